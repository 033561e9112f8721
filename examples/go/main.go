package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	petstorev1 "example.com/shop/gen/petstore/v1"
)

// gRPC sends a call again that got UNAVAILABLE, or whose connection broke. So what creates needs an idempotency key.
const retries = `{"methodConfig": [{"name": [{}], "retryPolicy": {
	"maxAttempts": 5, "initialBackoff": "0.5s", "maxBackoff": "5s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["UNAVAILABLE"]}}]}`

func main() {
	// With https: credentials.NewTLS(nil) of google.golang.org/grpc/credentials.
	address := strings.TrimPrefix(os.Getenv("API"), "http://")
	connection, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(retries))
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	categories := petstorev1.NewCategoryServiceClient(connection)

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+os.Getenv("API_KEY"))

	once := metadata.AppendToOutgoingContext(ctx, "idempotency-key", rand.Text())
	cats, err := categories.CreateCategory(once, &petstorev1.CreateCategoryRequest{
		Category: &petstorev1.NewCategory{Name: "Cats"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cats.GetId(), cats.GetName())

	_, err = categories.CreateCategory(ctx, &petstorev1.CreateCategoryRequest{})
	for _, detail := range status.Convert(err).Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			fmt.Println(detail.GetReason()) // INVALID_ARGUMENT
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				fmt.Println(violation.GetField(), violation.GetDescription())
			}
		}
	}
}
