import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.TlsChannelCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.EnumSet;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import petstore.v1.*;

public class First {
  static final Set<Status.Code> REPEATED = EnumSet.of(Status.Code.UNAVAILABLE, Status.Code.DEADLINE_EXCEEDED,
      Status.Code.INTERNAL, Status.Code.UNKNOWN, Status.Code.CANCELLED);
  static ManagedChannel channel;

  /** Tells what is wrong, and returns the seconds until the next attempt: -1 if it would fail again. */
  static double pauseAfter(StatusException error, int attempt) throws Exception {
    double told = 0;
    var problem = StatusProto.fromThrowable(error);
    System.err.println(error.getMessage());
    for (var detail : problem == null ? java.util.List.<com.google.protobuf.Any>of() : problem.getDetailsList()) {
      if (detail.is(ErrorInfo.class)) System.err.println(detail.unpack(ErrorInfo.class).getReason());
      if (detail.is(BadRequest.class)) {
        for (var one : detail.unpack(BadRequest.class).getFieldViolationsList()) {
          System.err.println(one.getField() + ": " + one.getDescription());
        }
      }
      if (detail.is(RetryInfo.class)) told = detail.unpack(RetryInfo.class).getRetryDelay().getSeconds();
    }
    var code = error.getStatus().getCode();
    if (!REPEATED.contains(code) && (code != Status.Code.RESOURCE_EXHAUSTED || told == 0)) return -1;
    return (told > 0 ? told : Math.min(Math.pow(2, attempt) / 4, 15)) * ThreadLocalRandom.current().nextDouble(1, 1.25);
  }

  static void sleep(double seconds) throws InterruptedException {
    Thread.sleep((long) (seconds * 1_000));
    channel.resetConnectBackoff(); // after a long outage it would wait for up to two minutes
  }

  static <S extends AbstractStub<S>> S with(S stub, String name, String value) {
    var metadata = new Metadata();
    metadata.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata));
  }

  interface Call<S, R> {
    R on(S stub) throws StatusException;
  }

  /** Calls until it gets a response, for some minutes. The key lets what creates be executed once. */
  static <S extends AbstractStub<S>, R> R call(S stub, Call<S, R> method) throws Exception {
    var withKey = with(stub, "idempotency-key", UUID.randomUUID().toString());
    for (int attempt = 1;; attempt += 1) {
      try {
        return method.on(withKey.withDeadlineAfter(10, TimeUnit.SECONDS));
      } catch (StatusException error) {
        double pause = pauseAfter(error, attempt);
        if (pause < 0 || pause > 120 || attempt == 10) throw error;
        sleep(pause);
      }
    }
  }

  /** Works on each event once, whatever ends the stream, and stores how far it is. */
  static void follow(EventServiceGrpc.EventServiceBlockingV2Stub events, long cursor, Consumer<Event> work)
      throws Exception {
    for (int attempt = 1;; attempt += 1) {
      var stream = events.watchEvents(WatchEventsRequest.newBuilder().setAfter(cursor).build());
      try {
        for (;;) {
          WatchEventsResponse message = stream.read(35, TimeUnit.SECONDS); // one comes every 15 s
          if (message == null) break;
          attempt = 0;
          if (message.hasEvent()) work.accept(message.getEvent());
          cursor = message.hasEvent() ? message.getEvent().getId() : message.getCheckpoint().getId();
          Files.writeString(Path.of("cursor.new"), Long.toString(cursor));
          Files.move(Path.of("cursor.new"), Path.of("cursor"), StandardCopyOption.ATOMIC_MOVE);
        }
        sleep(1);
      } catch (TimeoutException silence) {
        stream.cancel("no message for 35 s", silence);
      } catch (StatusException error) {
        double pause = pauseAfter(error, attempt);
        if (pause < 0) throw error;
        sleep(pause);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    var api = java.net.URI.create(System.getenv("API"));
    boolean isPlain = api.getScheme().equals("http");
    var security = isPlain ? InsecureChannelCredentials.create() : TlsChannelCredentials.create();
    channel = Grpc.newChannelBuilder(api.getAuthority(), security)
        .keepAliveTime(25, TimeUnit.SECONDS).keepAliveTimeout(10, TimeUnit.SECONDS).build();
    var key = "Bearer " + System.getenv("API_KEY");
    var categories = with(CategoryServiceGrpc.newBlockingV2Stub(channel), "authorization", key);
    var pets = with(PetServiceGrpc.newBlockingV2Stub(channel), "authorization", key);
    var inventory = with(InventoryServiceGrpc.newBlockingV2Stub(channel), "authorization", key);
    var orders = with(OrderServiceGrpc.newBlockingV2Stub(channel), "authorization", key);
    var events = with(EventServiceGrpc.newBlockingV2Stub(channel), "authorization", key);

    var newCategory = CreateCategoryRequest.newBuilder().setCategory(NewCategory.newBuilder().setName("Cats")).build();
    var cats = call(categories, (stub) -> stub.createCategory(newCategory));
    var newPet = NewPet.newBuilder().setName("Tom").setCategoryId(cats.getId());
    var tom = call(pets, (stub) -> stub.createPet(CreatePetRequest.newBuilder().setPet(newPet).build()));
    var twelve = InventoryUpdate.newBuilder().setQuantity(12);
    var stock = SetInventoryRequest.newBuilder().setPetId(tom.getId()).setInventory(twelve).build();
    call(inventory, (stub) -> stub.setInventory(stock));
    var order = Order.newBuilder().setPetId(tom.getId()).setQuantity(2);
    var placed = call(orders, (stub) -> stub.placeOrder(PlaceOrderRequest.newBuilder().setOrder(order).build()));
    System.out.printf("order %d: %d of %s%n", placed.getId(), placed.getQuantity(), tom.getName());

    int count = 0;
    var page = ListOrdersRequest.newBuilder().setPetId(tom.getId()).setLimit(100);
    do {
      var answer = call(orders, (stub) -> stub.listOrders(page.build()));
      count += answer.getOrdersCount();
      page.setPageToken(answer.getNextPageToken());
    } while (!page.getPageToken().isEmpty());
    System.out.printf("orders of %s: %d%n", tom.getName(), count);

    var cursor = Path.of("cursor");
    long start = Files.exists(cursor) ? Long.parseLong(Files.readString(cursor)) : 0; // 0: the oldest event that is kept
    follow(events, start, (event) -> System.out.println(event.getId() + " " + event.getType())); // your own work
  }
}
