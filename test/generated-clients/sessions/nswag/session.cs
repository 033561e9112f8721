// A session with the client that NSwag has generated.
using System;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text.RegularExpressions;
using System.Threading.Tasks;

static class Session {
  static void Main() => Run().Wait(); // Mono's compiler takes no async Main

  static async Task Run() {
    var http = new HttpClient();
    var key = Environment.GetEnvironmentVariable("API_KEY");
    http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", key);
    var shop = new Shop.Client(http) { BaseUrl = Environment.GetEnvironmentVariable("API") };
    var cats = await shop.CreateCategoryAsync(null, new Shop.NewCategory { Name = "Cats" });
    await shop.CreateCategoryAsync(null, new Shop.NewCategory { Name = "Dogs" });
    var page = await shop.ListCategoriesAsync(1, null);
    var link = page.Headers["Link"].First();
    var token = Uri.UnescapeDataString(Regex.Match(link, "pageToken=([^&>]+)").Groups[1].Value);
    var second = await shop.ListCategoriesAsync(1, token);
    string code = null;
    try {
      await shop.CreateCategoryAsync(null, new Shop.NewCategory { Name = "" });
    } catch (Shop.ApiException<Shop.ErrorBody> refused) {
      code = refused.Result.Code;
    }
    var events = await shop.ListEventsAsync(null, new[] { Shop.Anonymous.Category_created }, null);
    var isNext = page.Result.First().Id < second.Result.First().Id;
    Console.WriteLine($"{cats.Result.Name} {isNext.ToString().ToLower()} {code} {events.Result.First().Type}");
  }
}
