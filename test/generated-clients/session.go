// A session with the client that oapi-codegen has generated.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"example.com/shop/client"
)

func main() {
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	}
	shop, err := client.NewClientWithResponses(os.Getenv("API"), client.WithRequestEditorFn(withKey))
	check(err)
	made, err := shop.CreateCategoryWithResponse(ctx, nil, client.NewCategory{Name: "Cats"})
	check(err)
	read, err := shop.GetCategoryWithResponse(ctx, made.JSON201.Id, nil)
	check(err)
	listed, err := shop.ListCategoriesWithResponse(ctx, nil)
	check(err)
	wrong, err := shop.CreateCategoryWithResponse(ctx, nil, client.NewCategory{Name: ""})
	check(err)
	fmt.Println(read.JSON200.Name, len(*listed.JSON200) > 0, wrong.JSON400.Code)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
