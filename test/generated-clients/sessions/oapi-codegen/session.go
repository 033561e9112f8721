// A session with the client that oapi-codegen has generated.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"

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
	cats, err := shop.CreateCategoryWithResponse(ctx, nil, client.NewCategory{Name: "Cats"})
	check(err)
	_, err = shop.CreateCategoryWithResponse(ctx, nil, client.NewCategory{Name: "Dogs"})
	check(err)
	one := int32(1)
	page, err := shop.ListCategoriesWithResponse(ctx, &client.ListCategoriesParams{Limit: &one})
	check(err)
	next := regexp.MustCompile(`<.+\?(.+)>`).FindStringSubmatch(page.HTTPResponse.Header.Get("Link"))
	query, err := url.ParseQuery(next[1])
	check(err)
	token := query.Get("pageToken")
	second, err := shop.ListCategoriesWithResponse(ctx, &client.ListCategoriesParams{Limit: &one, PageToken: &token})
	check(err)
	wrong, err := shop.CreateCategoryWithResponse(ctx, nil, client.NewCategory{Name: ""})
	check(err)
	types := []client.ListEventsParamsTypes{"category.created"}
	events, err := shop.ListEventsWithResponse(ctx, &client.ListEventsParams{Types: &types})
	check(err)
	isNext := (*page.JSON200)[0].Id < (*second.JSON200)[0].Id
	fmt.Println(cats.JSON201.Name, isNext, wrong.JSON400.Code, (*events.JSON200)[0].Type)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
