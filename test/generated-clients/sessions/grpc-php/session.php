<?php
// Messages that protoc has generated, sent by Connect: PHP's extension for gRPC is in no Debian package.
spl_autoload_register(fn ($class) => include str_replace('\\', '/', $class) . '.php');
use Petstore\V1 as Shop;

function call($method, $request, $response)
{
    $curl = curl_init(getenv('API') . "/petstore.v1.$method");
    $key = 'Authorization: Bearer ' . getenv('API_KEY');
    curl_setopt_array($curl, [
        CURLOPT_POSTFIELDS => $request->serializeToString(),
        CURLOPT_HTTPHEADER => ['Content-Type: application/proto', 'Connect-Protocol-Version: 1', $key],
        CURLOPT_RETURNTRANSFER => true,
    ]);
    $body = curl_exec($curl);
    if (curl_getinfo($curl, CURLINFO_HTTP_CODE) != 200) {
        return json_decode($body);
    }
    $response->mergeFromString($body);
    return $response;
}

function create($name)
{
    $category = new Shop\NewCategory(['name' => $name]);
    return call('CategoryService/CreateCategory', new Shop\CreateCategoryRequest(['category' => $category]), new Shop\Category());
}

$cats = create('Cats');
create('Dogs');
$page = call('CategoryService/ListCategories', new Shop\ListCategoriesRequest(['limit' => 1]), new Shop\ListCategoriesResponse());
$next = new Shop\ListCategoriesRequest(['limit' => 1, 'page_token' => $page->getNextPageToken()]);
$second = call('CategoryService/ListCategories', $next, new Shop\ListCategoriesResponse());
$refused = create('');
$types = new Shop\ListEventsRequest(['types' => ['category.created']]);
$events = call('EventService/ListEvents', $types, new Shop\ListEventsResponse());
$isNext = json_encode($page->getCategories()[0]->getId() < $second->getCategories()[0]->getId());
echo "{$cats->getName()} $isNext {$refused->code} {$refused->details[0]->type} {$events->getEvents()[0]->getType()}\n";
