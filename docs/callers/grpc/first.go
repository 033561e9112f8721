package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"math"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	shop "example.com/shop/petstore/v1"
)

var repeated = []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.Canceled}

// pauseAfter tells what is wrong, and returns how long to wait for the next attempt: false if it would fail again.
func pauseAfter(err error, attempt int) (time.Duration, bool) {
	problem := status.Convert(err)
	var told time.Duration
	for _, detail := range problem.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			log.Println(problem.Code(), detail.GetReason())
		case *errdetails.BadRequest:
			for _, one := range detail.GetFieldViolations() {
				log.Printf("%s: %s", one.GetField(), one.GetDescription())
			}
		case *errdetails.RetryInfo:
			told = detail.GetRetryDelay().AsDuration()
		}
	}
	log.Println(problem.Message())
	if !slices.Contains(repeated, problem.Code()) && (problem.Code() != codes.ResourceExhausted || told == 0) {
		return 0, false
	}
	pause := told.Seconds()
	if pause == 0 {
		pause = min(math.Pow(2, float64(attempt))/4, 15)
	}
	return time.Duration(pause * (1 + mathrand.Float64()/4) * float64(time.Second)), true
}

func withKey() context.Context {
	return metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+os.Getenv("API_KEY"))
}

// call calls until it gets a response, for some minutes. What creates needs a key: then it is executed once.
func call[Q, R any](method func(context.Context, *Q, ...grpc.CallOption) (*R, error), request *Q, key string) *R {
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithTimeout(withKey(), 10*time.Second)
		if key != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "idempotency-key", key)
		}
		response, err := method(ctx, request)
		cancel()
		if err == nil {
			return response
		}
		pause, ok := pauseAfter(err, attempt)
		if !ok || pause > 2*time.Minute || attempt == 10 {
			log.Fatal(err)
		}
		time.Sleep(pause)
	}
}

// follow works on each event once, whatever ends the stream, and stores how far it is.
func follow(events shop.EventServiceClient, cursor int64, work func(*shop.Event)) error {
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithCancel(withKey())
		stream, err := events.WatchEvents(ctx, &shop.WatchEventsRequest{After: &cursor})
		for err == nil {
			silence := time.AfterFunc(35*time.Second, cancel) // a message comes every 15 s
			var message *shop.WatchEventsResponse
			message, err = stream.Recv()
			silence.Stop()
			if err != nil {
				break
			}
			attempt = 0
			cursor = message.GetCheckpoint().GetId()
			if event := message.GetEvent(); event != nil {
				work(event)
				cursor = event.GetId()
			}
			if err := os.WriteFile("cursor.new", []byte(strconv.FormatInt(cursor, 10)), 0o600); err != nil {
				log.Fatal(err)
			}
			if err := os.Rename("cursor.new", "cursor"); err != nil {
				log.Fatal(err)
			}
		}
		cancel()
		pause, ok := pauseAfter(err, attempt)
		if !ok {
			return err
		}
		time.Sleep(pause)
	}
}

func main() {
	host, isPlain := strings.CutPrefix(os.Getenv("API"), "http://")
	security := credentials.NewTLS(nil)
	if isPlain {
		security = insecure.NewCredentials()
	}
	pings := keepalive.ClientParameters{Time: 25 * time.Second, Timeout: 10 * time.Second}
	connecting := grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 10 * time.Second}
	connecting.Backoff.MaxDelay = 15 * time.Second
	channel, err := grpc.NewClient(strings.TrimPrefix(host, "https://"),
		grpc.WithTransportCredentials(security), grpc.WithKeepaliveParams(pings), grpc.WithConnectParams(connecting))
	if err != nil {
		log.Fatal(err)
	}
	categories, pets := shop.NewCategoryServiceClient(channel), shop.NewPetServiceClient(channel)
	inventory, orders := shop.NewInventoryServiceClient(channel), shop.NewOrderServiceClient(channel)

	newCategory := &shop.CreateCategoryRequest{Category: &shop.NewCategory{Name: "Cats"}}
	cats := call(categories.CreateCategory, newCategory, rand.Text())
	newPet := &shop.CreatePetRequest{Pet: &shop.NewPet{Name: "Tom", CategoryId: &cats.Id}}
	tom := call(pets.CreatePet, newPet, rand.Text())
	twelve, two := int32(12), int32(2)
	stock := &shop.InventoryUpdate{Quantity: &twelve}
	call(inventory.SetInventory, &shop.SetInventoryRequest{PetId: tom.Id, Inventory: stock}, "")
	order := &shop.PlaceOrderRequest{Order: &shop.Order{PetId: &tom.Id, Quantity: &two}}
	placed := call(orders.PlaceOrder, order, rand.Text())
	fmt.Printf("order %d: %d of %s\n", placed.GetId(), placed.GetQuantity(), tom.GetName())

	count, limit := 0, int32(100)
	for page := (&shop.ListOrdersRequest{PetId: &tom.Id, Limit: &limit}); ; {
		answer := call(orders.ListOrders, page, "")
		count += len(answer.GetOrders())
		if page.PageToken = answer.GetNextPageToken(); page.PageToken == "" {
			break
		}
	}
	fmt.Printf("orders of %s: %d\n", tom.GetName(), count)

	var start int64 // 0: the oldest event that is kept
	if text, err := os.ReadFile("cursor"); !errors.Is(err, fs.ErrNotExist) {
		if start, err = strconv.ParseInt(string(text), 10, 64); err != nil {
			log.Fatal(err)
		}
	}
	log.Fatal(follow(shop.NewEventServiceClient(channel), start, func(event *shop.Event) {
		fmt.Println(event.GetId(), event.GetType()) // your own work
	}))
}
