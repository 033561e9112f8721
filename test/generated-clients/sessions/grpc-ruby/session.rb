# gRPC by the gems grpc and googleapis-common-protos-types, from the proto file.
require 'google/protobuf/well_known_types'
require 'google/rpc/error_details_pb'
require_relative 'petstore_services_pb'
include Petstore::V1

host = ENV.fetch('API').delete_prefix('http://')
with_key = { metadata: { 'authorization' => "Bearer #{ENV.fetch('API_KEY')}" }, deadline: Time.now + 60 }
categories = CategoryService::Stub.new(host, :this_channel_is_insecure)
events = EventService::Stub.new(host, :this_channel_is_insecure)

stream = events.watch_events(WatchEventsRequest.new(types: ['category.created']), **with_key)
stream.next # the checkpoint: from here on
create = ->(name) { CreateCategoryRequest.new(category: NewCategory.new(name:)) }
cats = categories.create_category(create.call('Cats'), **with_key)
categories.create_category(create.call('Dogs'), **with_key)
page = categories.list_categories(ListCategoriesRequest.new(limit: 1), **with_key)
second = categories.list_categories(ListCategoriesRequest.new(limit: 1, page_token: page.next_page_token), **with_key)
begin
  categories.create_category(create.call(''), **with_key)
rescue GRPC::InvalidArgument => e
  details = e.to_rpc_status.details
  reason = details.find { |one| one.is(Google::Rpc::ErrorInfo) }.unpack(Google::Rpc::ErrorInfo).reason
  bad = details.find { |one| one.is(Google::Rpc::BadRequest) }.unpack(Google::Rpc::BadRequest)
end
is_next = page.categories[0].id < second.categories[0].id
puts "#{cats.name} #{is_next} #{reason} #{bad.field_violations[0].field} #{stream.next.event.type}"
