// gRPC by tonic, from the proto file.
mod shop {
    tonic::include_proto!("petstore.v1");
}
use shop::watch_events_response::Message;
use tonic::metadata::MetadataValue;
use tonic_types::StatusExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let channel = tonic::transport::Endpoint::from_shared(std::env::var("API")?)?
        .connect()
        .await?;
    let key: MetadataValue<_> = format!("Bearer {}", std::env::var("API_KEY")?).parse()?;
    let with_key = move |mut request: tonic::Request<()>| {
        request.metadata_mut().insert("authorization", key.clone());
        Ok(request)
    };
    let mut categories =
        shop::category_service_client::CategoryServiceClient::with_interceptor(channel.clone(), with_key.clone());
    let mut events = shop::event_service_client::EventServiceClient::with_interceptor(channel, with_key);

    let start = shop::WatchEventsRequest {
        types: vec!["category.created".into()],
        ..Default::default()
    };
    let mut stream = events.watch_events(start).await?.into_inner();
    let create = |name: &str| shop::CreateCategoryRequest {
        category: Some(shop::NewCategory {
            name: name.into(),
            description: None,
        }),
    };
    let cats = categories.create_category(create("Cats")).await?.into_inner();
    categories.create_category(create("Dogs")).await?;
    let first = shop::ListCategoriesRequest {
        limit: Some(1),
        page_token: String::new(),
    };
    let page = categories.list_categories(first.clone()).await?.into_inner();
    let next = shop::ListCategoriesRequest {
        page_token: page.next_page_token,
        ..first
    };
    let second = categories.list_categories(next).await?.into_inner();
    let refused = categories.create_category(create("")).await.unwrap_err();
    let details = refused.get_error_details();
    let reason = details.error_info().unwrap().reason.clone();
    let field = details.bad_request().unwrap().field_violations[0].field.clone();
    let event = loop {
        if let Some(Message::Event(event)) = stream.message().await?.unwrap().message {
            break event;
        }
    };
    let is_next = page.categories[0].id < second.categories[0].id;
    println!("{} {} {} {} {}", cats.name, is_next, reason, field, event.r#type);
    Ok(())
}
