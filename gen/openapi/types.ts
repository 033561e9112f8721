export interface paths {
    "/pets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists pets in ascending order of id
         * @description Lists pets in ascending order of id, page by page. With `ids` it returns all of these that exist, without pages. With exactly one of `ids` the response has the `ETag` of that pet, if it exists.
         */
        get: operations["listPets"];
        put?: never;
        /**
         * Creates a pet and its inventory entry
         * @description Creates a pet and its inventory entry, with quantity 0.
         */
        post: operations["createPet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pets/{petId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Finds one pet by its id
         * @deprecated
         * @description Finds one pet by its id. Deprecated: list with `ids` instead.
         *
         *     **Deprecated** since 2026-07-01; the sunset is 2027-12-31T23:59:59Z. Call `GET /pets?ids={petId}` instead.
         */
        get: operations["getPet"];
        /**
         * Replaces every field of a pet
         * @description Replaces every field of a pet; an absent status becomes `available`.
         */
        put: operations["replacePet"];
        post?: never;
        /**
         * Deletes a pet and its inventory entry
         * @description Deletes a pet and its inventory entry. Refused while an open order is for the pet; complete orders stay.
         */
        delete: operations["deletePet"];
        options?: never;
        head?: never;
        /**
         * Changes only those fields of a pet that the patch contains
         * @description Changes only those fields of a pet that the patch contains.
         */
        patch: operations["updatePet"];
        trace?: never;
    };
    "/categories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists categories in ascending order of id
         * @description Lists categories in ascending order of id, page by page.
         */
        get: operations["listCategories"];
        put?: never;
        /**
         * Creates a category
         * @description Creates a category.
         */
        post: operations["createCategory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/categories/{categoryId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Finds one category by its id
         * @description Finds one category by its id.
         */
        get: operations["getCategory"];
        /**
         * Replaces every field of a category
         * @description Replaces every field of a category; an absent description is removed.
         */
        put: operations["replaceCategory"];
        post?: never;
        /**
         * Deletes a category
         * @description Deletes a category. Refused while it contains a pet.
         */
        delete: operations["deleteCategory"];
        options?: never;
        head?: never;
        /**
         * Changes only those fields of a category that the patch contains
         * @description Changes only those fields of a category that the patch contains.
         */
        patch: operations["updateCategory"];
        trace?: never;
    };
    "/store/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists orders in ascending order of id
         * @description Lists orders in ascending order of id, page by page.
         *
         *     Interactive testing is disabled: the response contains the orders of all customers. Use a client of your own.
         */
        get: operations["listOrders"];
        put?: never;
        /**
         * Places an order
         * @description Places an order. An order for a pet takes its units from the pet's inventory. It may be complete from the start.
         */
        post: operations["placeOrder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/orders/{orderId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Finds one order by its id
         * @description Finds one order by its id.
         */
        get: operations["getOrder"];
        put?: never;
        post?: never;
        /**
         * Cancels an open order
         * @description Cancels an open order: it is deleted, and its units return to stock. Refused for a complete order.
         */
        delete: operations["cancelOrder"];
        options?: never;
        head?: never;
        /**
         * Changes only those fields of an open order that the patch contains
         * @description Changes only those fields of an open order that the patch contains. A new quantity takes or returns the difference in stock. `complete` closes the order permanently.
         */
        patch: operations["updateOrder"];
        trace?: never;
    };
    "/store/inventory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists inventory entries in ascending order of pet id
         * @description Lists inventory entries in ascending order of pet id, page by page.
         */
        get: operations["listInventory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/inventory/{petId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Finds the inventory entry of one pet
         * @description Finds the inventory entry of one pet.
         */
        get: operations["getInventoryItem"];
        /**
         * Sets the stock count of one pet
         * @description Sets the stock count of one pet. Above zero, a `pending` or `sold` pet becomes `available`. The count plus the units in open orders, which return to stock if the orders are cancelled, must not exceed 1,000,000,000.
         */
        put: operations["setInventory"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists events in ascending order of id
         * @description Lists events in ascending order of id. Events are kept for 30 days.
         */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follows the feed without end
         * @description Follows the feed without end: each event as it happens. A stream ends after an hour, when its key is revoked, and when its server stops; start again after the last id, and nothing is missed or repeated.
         */
        get: operations["watchEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description One page of categories. */
        Categories: components["schemas"]["Category"][];
        /** @description A kind of animal. */
        Category: {
            /**
             * Format: int64
             * @description Unique identifier, assigned on creation.
             * @example 1
             */
            id: number;
            /**
             * @description The category's name.
             * @example Cats
             */
            name: string;
            /**
             * @description A short description.
             * @example Small and furry; they sleep most of the day.
             */
            description?: string;
        };
        /** @description Any fields of NewCategory. Absent fields stay unchanged. */
        CategoryPatch: {
            /**
             * @description The category's name: 1 to 200 characters after trimming, no control characters.
             * @example Cats
             */
            name?: string;
            /**
             * @description A short description, at most 2,000 characters.
             * @example Small and furry; they sleep most of the day.
             */
            description?: string;
        };
        /** @description What every answer of 400 and above says, whoever makes it. */
        ErrorBody: {
            /**
             * @description Machine-readable error code. There may be new ones: treat one that you don't know by its status.
             * @example API_KEY_MISSING
             */
            code: string;
            /**
             * @description Human-readable description.
             * @example an API key is needed
             */
            message: string;
            /**
             * @description The HTTP status code.
             * @example 404
             */
            status: number;
        };
        /** @description One change of a pet (its stock included), a category or an order. */
        Event: {
            /**
             * Format: int64
             * @description The id. Later events have greater ids; gaps mean nothing.
             * @example 1
             */
            id: number;
            /**
             * @description What happened: `pet.created`, `pet.updated`, `pet.deleted`, and the same three of `category` and `order`.
             * @example pet.updated
             */
            type: string;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-10-01T12:00:00.500Z
             */
            readonly time: string;
            /**
             * @description A pet; `inventory` has its stock.
             * @example {
             *       "id": 1,
             *       "name": "Tom",
             *       "categoryId": 1,
             *       "status": "available"
             *     }
             */
            pet?: components["schemas"]["Pet"];
            /**
             * @description A category.
             * @example {
             *       "id": 1,
             *       "name": "Cats",
             *       "description": "Small and furry; they sleep most of the day."
             *     }
             */
            category?: components["schemas"]["Category"];
            /**
             * @description An order.
             * @example {
             *       "id": 1,
             *       "petId": 1,
             *       "quantity": 2,
             *       "shipDate": "2027-01-01T12:00:00Z",
             *       "complete": false
             *     }
             */
            order?: components["schemas"]["Order"];
            /**
             * @description The stock of the pet.
             * @example {
             *       "petId": 1,
             *       "quantity": 12,
             *       "status": "available"
             *     }
             */
            inventory?: components["schemas"]["InventoryItem"];
        };
        /** @description One page of events. */
        Events: components["schemas"]["Event"][];
        /** @description One page of inventory entries. */
        Inventory: components["schemas"]["InventoryItem"][];
        /** @description The stock of one pet. */
        InventoryItem: {
            /**
             * Format: int64
             * @description The id of the pet.
             * @example 1
             */
            petId: number;
            /**
             * Format: int32
             * @description Current stock count.
             * @example 12
             */
            quantity: number;
            /**
             * @description The status of the pet.
             * @example available
             */
            status: components["schemas"]["PetStatus"];
        };
        /** @description The new stock count. */
        InventoryUpdate: {
            /**
             * Format: int32
             * @description The new stock count, 0 to 1,000,000,000.
             * @example 12
             */
            quantity: number;
        };
        /** @description The fields of a category that a caller sets. */
        NewCategory: {
            /**
             * @description The category's name, for example a kind of animal: 1 to 200 characters after trimming, no control characters.
             * @example Cats
             */
            name: string;
            /**
             * @description A short description, at most 2,000 characters.
             * @example Small and furry; they sleep most of the day.
             */
            description?: string;
        };
        /** @description The fields of a pet that a caller sets. */
        NewPet: {
            /**
             * @description The animal's name: 1 to 200 characters after trimming, no control characters.
             * @example Tom
             */
            name: string;
            /**
             * Format: int64
             * @description The category that the animal belongs to. It must exist.
             * @example 1
             */
            categoryId: number;
            /**
             * @description Absent means `available`.
             * @example available
             */
            status?: components["schemas"]["PetStatus"];
        };
        /** @description An order. No field is required. */
        Order: {
            /**
             * Format: int64
             * @description Unique identifier, assigned when the order is placed; ignored on input.
             * @example 1
             */
            readonly id?: number;
            /**
             * Format: int64
             * @description The id of the pet. If given, the pet must exist. Without it the order takes no stock.
             * @example 1
             */
            petId?: number;
            /**
             * Format: int32
             * @description Units ordered, 1 to 1,000,000. Absent means 1.
             * @example 2
             */
            quantity?: number;
            /**
             * Format: date-time
             * @description Expected or actual ship date.
             * @example 2027-01-01T12:00:00Z
             */
            shipDate?: string;
            /**
             * @description Whether the order has been fulfilled. Absent means false.
             * @example false
             */
            complete?: boolean;
        };
        /** @description The changes to an open order. Absent fields stay unchanged. */
        OrderPatch: {
            /**
             * Format: int32
             * @description Units ordered, 1 to 1,000,000.
             * @example 3
             */
            quantity?: number;
            /**
             * Format: date-time
             * @description Expected or actual ship date.
             * @example 2027-01-01T12:00:00Z
             */
            shipDate?: string;
            /**
             * @description True closes the order permanently.
             * @example true
             */
            complete?: boolean;
        };
        /** @description One page of orders. */
        Orders: components["schemas"]["Order"][];
        /** @description An animal. */
        Pet: {
            /**
             * Format: int64
             * @description Unique identifier, assigned on creation.
             * @example 1
             */
            id: number;
            /**
             * @description The animal's name.
             * @example Tom
             */
            name: string;
            /**
             * Format: int64
             * @description The category that the animal belongs to.
             * @example 1
             */
            categoryId: number;
            /**
             * @description The status of the pet.
             * @example available
             */
            status: components["schemas"]["PetStatus"];
        };
        /** @description Any fields of NewPet. Absent fields stay unchanged. */
        PetPatch: {
            /**
             * @description The animal's name: 1 to 200 characters after trimming, no control characters.
             * @example Tom
             */
            name?: string;
            /**
             * Format: int64
             * @description The category that the animal belongs to. It must exist.
             * @example 1
             */
            categoryId?: number;
            /**
             * @description The status of the pet.
             * @example pending
             */
            status?: components["schemas"]["PetStatus"];
        };
        /**
         * @description The status of a pet and its inventory entry. The stock alone decides whether an order is accepted. A status that you set stands until one of these changes it.
         *     - `available`: A new pet, unless you set another status; any pet when its stock is set above zero, or units return to it.
         *     - `pending`: An available pet when an order takes its last unit.
         *     - `sold`: A pending pet when its last open order is complete and no stock is left.
         * @enum {string}
         */
        PetStatus: "available" | "pending" | "sold";
        /** @description One page of pets. */
        Pets: components["schemas"]["Pet"][];
    };
    responses: {
        /**
         * @description Unauthorized.
         *     - `API_KEY_MISSING`: an API key is needed: send "Authorization: Bearer <API_KEY>"
         *     - `API_KEY_INVALID`: the API key is not valid: it is unknown, revoked or expired
         */
        Unauthorized: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description Forbidden.
         *     - `PERMISSION_DENIED`: the API key has the permission "read", and this request takes "write": send it with a key that has it
         */
        Forbidden: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description Method Not Allowed.
         *     - `METHOD_NOT_ALLOWED`: /pets does not answer to PUT; it answers to GET, HEAD, POST
         */
        MethodNotAllowed: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Allow: components["headers"]["Allow"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description Request Timeout.
         *     - `REQUEST_TIMEOUT`: the request had not arrived whole 30 seconds after its headers
         */
        RequestTimeout: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description Payload Too Large.
         *     - `BODY_TOO_LARGE`: the request body is larger than 64 KiB
         */
        PayloadTooLarge: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description Unsupported Media Type.
         *     - `UNSUPPORTED_CONTENT_ENCODING`: a body with a content coding ("gzip") is not read: send it as it is
         */
        UnsupportedMediaType: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Accept-Encoding": components["headers"]["Accept-Encoding"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description Too Many Requests.
         *     - `RATE_LIMITED`: the limit of 1000 per minute is used up: try again in 30 s
         *     - `API_KEY_BANNED`: the API key is banned for sending on after refusals: try again in 30 s, and back off after a 429
         */
        TooManyRequests: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description Internal Server Error.
         *     - `INTERNAL`: something went wrong on our side; request id 7b0bfa0a-4c5e-4b5e-9d5c-0f6f2f3c8a11
         */
        InternalServerError: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description Service Unavailable.
         *     - `UNAVAILABLE`: the service is not available just now; try again shortly
         */
        ServiceUnavailable: {
            headers: {
                /** @description The request limit in force: of the minute or of the day, whichever has the fewest requests left. The plan of the account sets both. */
                "X-RateLimit-Limit"?: number;
                /** @description Requests left in the window of that limit, over all keys of the account. */
                "X-RateLimit-Remaining"?: number;
                /** @description When that window ends and its count starts again, as a Unix timestamp in seconds. */
                "X-RateLimit-Reset"?: number;
                /** @description Both limits and their windows in seconds (draft-ietf-httpapi-ratelimit-headers). The draft may still change. */
                "RateLimit-Policy"?: string;
                /** @description What is left of each, and in how many seconds its window ends (draft-ietf-httpapi-ratelimit-headers). The draft may still change. */
                RateLimit?: string;
                /** @description Identifies the request in the logs of the service: quote it when you report a problem. */
                "X-Request-Id"?: string;
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /**
         * @description Gateway Timeout.
         *     - `DEADLINE_EXCEEDED`: the request was not answered in time
         */
        GatewayTimeout: {
            headers: {
                /** @description The request limit in force: of the minute or of the day, whichever has the fewest requests left. The plan of the account sets both. */
                "X-RateLimit-Limit"?: number;
                /** @description Requests left in the window of that limit, over all keys of the account. */
                "X-RateLimit-Remaining"?: number;
                /** @description When that window ends and its count starts again, as a Unix timestamp in seconds. */
                "X-RateLimit-Reset"?: number;
                /** @description Both limits and their windows in seconds (draft-ietf-httpapi-ratelimit-headers). The draft may still change. */
                "RateLimit-Policy"?: string;
                /** @description What is left of each, and in how many seconds its window ends (draft-ietf-httpapi-ratelimit-headers). The draft may still change. */
                RateLimit?: string;
                /** @description Identifies the request in the logs of the service: quote it when you report a problem. */
                "X-Request-Id"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
    };
    parameters: {
        /** @description One or more `ETag`s. The response is a 412 unless the resource still has one of them. */
        "If-Match": string;
        /** @description One or more `ETag`s. The response is a 304 while the resource has one of them. */
        "If-None-Match": string;
        /** @description Makes it safe to send the request again when no answer came: under one key it is carried out once, and answered alike each time. A new UUID for each new request is a good key. */
        "Idempotency-Key": string;
        /** @description The id of the last event that you have: the stream goes on after it. It wins over `lastEventId` and `after`. An empty one is none. */
        "Last-Event-ID": string;
    };
    requestBodies: never;
    headers: {
        /** @description The request limit in force: of the minute or of the day, whichever has the fewest requests left. The plan of the account sets both. */
        "X-RateLimit-Limit": number;
        /** @description Requests left in the window of that limit, over all keys of the account. */
        "X-RateLimit-Remaining": number;
        /** @description When that window ends and its count starts again, as a Unix timestamp in seconds. */
        "X-RateLimit-Reset": number;
        /** @description Both limits and their windows in seconds (draft-ietf-httpapi-ratelimit-headers). The draft may still change. */
        "RateLimit-Policy": string;
        /** @description What is left of each, and in how many seconds its window ends (draft-ietf-httpapi-ratelimit-headers). The draft may still change. */
        RateLimit: string;
        /** @description Identifies the request in the logs of the service: quote it when you report a problem. */
        "X-Request-Id": string;
        /** @description When to try again, in whole seconds, at least 1. */
        "Retry-After": number;
        /** @description The authentication scheme, with an error when the key is not valid (RFC 6750). */
        "WWW-Authenticate": "Bearer realm=\"petstore\"" | "Bearer realm=\"petstore\", error=\"invalid_token\"";
        /** @description The methods that the path supports. */
        Allow: string;
        /** @description The content coding that a body may have: none (RFC 9110, section 15.5.16). */
        "Accept-Encoding": "identity";
        /** @description The path of the created resource. */
        Location: string;
        /** @description The entity tag: it changes exactly when the response body does (RFC 9110, section 8.8.3). Opaque. */
        ETag: string;
        /** @description Present when the response is a replay: a request with this key was carried out before. */
        "Idempotency-Replayed": "true";
        /** @description Since when the operation is deprecated, as `@` and a Unix timestamp in seconds (RFC 9745). */
        Deprecation: string;
        /** @description The operation is guaranteed to work until this HTTP date (RFC 8594). */
        Sunset: string;
        /** @description The address of the next page, with `rel="next"` (RFC 8288). Absent on the last page. */
        "Link-Next": string;
        /** @description The address to call instead, with `rel="successor-version"` (RFC 8288). */
        "Link-Successor": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listPets: {
        parameters: {
            query?: {
                /** @description Only pets with this status. */
                status?: components["schemas"]["PetStatus"];
                /** @description Only pets in this category. */
                categoryId?: number;
                /** @description Only these pets. The response then has no pages, and contains all that exist. */
                ids?: number[];
                /** @description The maximum number of items, 1 to 100. Absent means 20. */
                limit?: number;
                /** @description The page token from the previous page. Absent or empty: the first page. */
                pageToken?: string;
            };
            header?: {
                /** @description One or more `ETag`s. The response is a 304 while the resource has one of them. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of pets. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    /** @description The entity tag: it changes exactly when the response body does (RFC 9110, section 8.8.3). Opaque. */
                    ETag?: string;
                    Link: components["headers"]["Link-Next"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": 1,
                     *         "name": "Tom",
                     *         "categoryId": 1,
                     *         "status": "available"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Pets"];
                };
            };
            /** @description The resource still has an `ETag` that `If-None-Match` names. There is no body. */
            304: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createPet: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes it safe to send the request again when no answer came: under one key it is carried out once, and answered alike each time. A new UUID for each new request is a good key. */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description The fields of a pet that a caller sets. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Tom",
                 *       "categoryId": 1,
                 *       "status": "available"
                 *     }
                 */
                "application/json": components["schemas"]["NewPet"];
            };
        };
        responses: {
            /** @description An animal. */
            201: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Location: components["headers"]["Location"];
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "name": "Tom",
                     *       "categoryId": 1,
                     *       "status": "available"
                     *     }
                     */
                    "application/json": components["schemas"]["Pet"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: name: value is required; categoryId: value is required
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             *     - `UNKNOWN_CATEGORY`: categoryId: category 1 does not exist
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Conflict.
             *     - `IDEMPOTENCY_KEY_REUSED`: Idempotency-Key: another request has been carried out under this key: send each new request with a new key
             */
            409: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    getPet: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 304 while the resource has one of them. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /**
                 * @description The id of the pet.
                 * @example 1
                 */
                petId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An animal. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    Deprecation: components["headers"]["Deprecation"];
                    Sunset: components["headers"]["Sunset"];
                    Link: components["headers"]["Link-Successor"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "name": "Tom",
                     *       "categoryId": 1,
                     *       "status": "available"
                     *     }
                     */
                    "application/json": components["schemas"]["Pet"];
                };
            };
            /** @description The resource still has an `ETag` that `If-None-Match` names. There is no body. */
            304: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    Deprecation: components["headers"]["Deprecation"];
                    Sunset: components["headers"]["Sunset"];
                    Link: components["headers"]["Link-Successor"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            /**
             * @description Not Found.
             *     - `PET_NOT_FOUND`: pet 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Deprecation: components["headers"]["Deprecation"];
                    Sunset: components["headers"]["Sunset"];
                    Link: components["headers"]["Link-Successor"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    replacePet: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 412 unless the resource still has one of them. */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the pet.
                 * @example 1
                 */
                petId: number;
            };
            cookie?: never;
        };
        /** @description The fields of a pet that a caller sets. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Tom",
                 *       "categoryId": 1,
                 *       "status": "available"
                 *     }
                 */
                "application/json": components["schemas"]["NewPet"];
            };
        };
        responses: {
            /** @description An animal. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "name": "Tom",
                     *       "categoryId": 1,
                     *       "status": "available"
                     *     }
                     */
                    "application/json": components["schemas"]["Pet"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: name: value is required; categoryId: value is required
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             *     - `UNKNOWN_CATEGORY`: categoryId: category 1 does not exist
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /**
             * @description Not Found.
             *     - `PET_NOT_FOUND`: pet 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Precondition Failed.
             *     - `PRECONDITION_FAILED`: what is stored has the ETag "4lopUGI33HG_w_A_43xix1" now, which If-Match does not name: read it again before you change it
             */
            412: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    deletePet: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 412 unless the resource still has one of them. */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the pet.
                 * @example 1
                 */
                petId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. There is no body. */
            204: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /**
             * @description Not Found.
             *     - `PET_NOT_FOUND`: pet 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Conflict.
             *     - `PET_IN_USE`: an order that is not complete names pet 1: complete or cancel it first
             */
            409: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /**
             * @description Precondition Failed.
             *     - `PRECONDITION_FAILED`: what is stored has the ETag "4lopUGI33HG_w_A_43xix1" now, which If-Match does not name: read it again before you change it
             */
            412: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    updatePet: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 412 unless the resource still has one of them. */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the pet.
                 * @example 1
                 */
                petId: number;
            };
            cookie?: never;
        };
        /** @description Any fields of NewPet. Absent fields stay unchanged. */
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Tom",
                 *       "categoryId": 1,
                 *       "status": "pending"
                 *     }
                 */
                "application/json": components["schemas"]["PetPatch"];
            };
        };
        responses: {
            /** @description An animal. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "name": "Tom",
                     *       "categoryId": 1,
                     *       "status": "pending"
                     *     }
                     */
                    "application/json": components["schemas"]["Pet"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             *     - `UNKNOWN_CATEGORY`: categoryId: category 1 does not exist
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /**
             * @description Not Found.
             *     - `PET_NOT_FOUND`: pet 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Precondition Failed.
             *     - `PRECONDITION_FAILED`: what is stored has the ETag "4lopUGI33HG_w_A_43xix1" now, which If-Match does not name: read it again before you change it
             */
            412: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    listCategories: {
        parameters: {
            query?: {
                /** @description The maximum number of items, 1 to 100. Absent means 20. */
                limit?: number;
                /** @description The page token from the previous page. Absent or empty: the first page. */
                pageToken?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of categories. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Link: components["headers"]["Link-Next"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": 1,
                     *         "name": "Cats",
                     *         "description": "Small and furry; they sleep most of the day."
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Categories"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createCategory: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes it safe to send the request again when no answer came: under one key it is carried out once, and answered alike each time. A new UUID for each new request is a good key. */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description The fields of a category that a caller sets. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Cats",
                 *       "description": "Small and furry; they sleep most of the day."
                 *     }
                 */
                "application/json": components["schemas"]["NewCategory"];
            };
        };
        responses: {
            /** @description A kind of animal. */
            201: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Location: components["headers"]["Location"];
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "name": "Cats",
                     *       "description": "Small and furry; they sleep most of the day."
                     *     }
                     */
                    "application/json": components["schemas"]["Category"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: name: value is required
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Conflict.
             *     - `IDEMPOTENCY_KEY_REUSED`: Idempotency-Key: another request has been carried out under this key: send each new request with a new key
             */
            409: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    getCategory: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 304 while the resource has one of them. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /**
                 * @description The id of the category.
                 * @example 1
                 */
                categoryId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A kind of animal. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "name": "Cats",
                     *       "description": "Small and furry; they sleep most of the day."
                     *     }
                     */
                    "application/json": components["schemas"]["Category"];
                };
            };
            /** @description The resource still has an `ETag` that `If-None-Match` names. There is no body. */
            304: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            /**
             * @description Not Found.
             *     - `CATEGORY_NOT_FOUND`: category 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    replaceCategory: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 412 unless the resource still has one of them. */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the category.
                 * @example 1
                 */
                categoryId: number;
            };
            cookie?: never;
        };
        /** @description The fields of a category that a caller sets. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Cats",
                 *       "description": "Small and furry; they sleep most of the day."
                 *     }
                 */
                "application/json": components["schemas"]["NewCategory"];
            };
        };
        responses: {
            /** @description A kind of animal. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "name": "Cats",
                     *       "description": "Small and furry; they sleep most of the day."
                     *     }
                     */
                    "application/json": components["schemas"]["Category"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: name: value is required
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /**
             * @description Not Found.
             *     - `CATEGORY_NOT_FOUND`: category 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Precondition Failed.
             *     - `PRECONDITION_FAILED`: what is stored has the ETag "4lopUGI33HG_w_A_43xix1" now, which If-Match does not name: read it again before you change it
             */
            412: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    deleteCategory: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 412 unless the resource still has one of them. */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the category.
                 * @example 1
                 */
                categoryId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. There is no body. */
            204: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /**
             * @description Not Found.
             *     - `CATEGORY_NOT_FOUND`: category 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Conflict.
             *     - `CATEGORY_IN_USE`: category 1 still has pets: move or delete them first
             */
            409: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /**
             * @description Precondition Failed.
             *     - `PRECONDITION_FAILED`: what is stored has the ETag "4lopUGI33HG_w_A_43xix1" now, which If-Match does not name: read it again before you change it
             */
            412: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    updateCategory: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 412 unless the resource still has one of them. */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the category.
                 * @example 1
                 */
                categoryId: number;
            };
            cookie?: never;
        };
        /** @description Any fields of NewCategory. Absent fields stay unchanged. */
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Cats",
                 *       "description": "Small and furry; they sleep most of the day."
                 *     }
                 */
                "application/json": components["schemas"]["CategoryPatch"];
            };
        };
        responses: {
            /** @description A kind of animal. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "name": "Cats",
                     *       "description": "Small and furry; they sleep most of the day."
                     *     }
                     */
                    "application/json": components["schemas"]["Category"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /**
             * @description Not Found.
             *     - `CATEGORY_NOT_FOUND`: category 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Precondition Failed.
             *     - `PRECONDITION_FAILED`: what is stored has the ETag "4lopUGI33HG_w_A_43xix1" now, which If-Match does not name: read it again before you change it
             */
            412: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    listOrders: {
        parameters: {
            query?: {
                /** @description Only orders for this pet. */
                petId?: number;
                /** @description Only complete orders, or only open ones. */
                complete?: boolean;
                /** @description The maximum number of items, 1 to 100. Absent means 20. */
                limit?: number;
                /** @description The page token from the previous page. Absent or empty: the first page. */
                pageToken?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of orders. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Link: components["headers"]["Link-Next"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": 1,
                     *         "petId": 1,
                     *         "quantity": 2,
                     *         "shipDate": "2027-01-01T12:00:00Z",
                     *         "complete": false
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Orders"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    placeOrder: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes it safe to send the request again when no answer came: under one key it is carried out once, and answered alike each time. A new UUID for each new request is a good key. */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description An order. No field is required. */
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "petId": 1,
                 *       "quantity": 2,
                 *       "shipDate": "2027-01-01T12:00:00Z",
                 *       "complete": false
                 *     }
                 */
                "application/json": components["schemas"]["Order"];
            };
        };
        responses: {
            /** @description An order. No field is required. */
            201: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Location: components["headers"]["Location"];
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Replayed": components["headers"]["Idempotency-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "petId": 1,
                     *       "quantity": 2,
                     *       "shipDate": "2027-01-01T12:00:00Z",
                     *       "complete": false
                     *     }
                     */
                    "application/json": components["schemas"]["Order"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             *     - `UNKNOWN_PET`: petId: pet 1 does not exist
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Conflict.
             *     - `INSUFFICIENT_STOCK`: pet 1: quantity 5 is more than the 3 in stock
             *     - `IDEMPOTENCY_KEY_REUSED`: Idempotency-Key: another request has been carried out under this key: send each new request with a new key
             */
            409: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    getOrder: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 304 while the resource has one of them. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /**
                 * @description The id of the order.
                 * @example 1
                 */
                orderId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An order. No field is required. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "petId": 1,
                     *       "quantity": 2,
                     *       "shipDate": "2027-01-01T12:00:00Z",
                     *       "complete": false
                     *     }
                     */
                    "application/json": components["schemas"]["Order"];
                };
            };
            /** @description The resource still has an `ETag` that `If-None-Match` names. There is no body. */
            304: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            /**
             * @description Not Found.
             *     - `ORDER_NOT_FOUND`: order 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    cancelOrder: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 412 unless the resource still has one of them. */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the order.
                 * @example 1
                 */
                orderId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. There is no body. */
            204: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /**
             * @description Not Found.
             *     - `ORDER_NOT_FOUND`: order 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Conflict.
             *     - `ORDER_COMPLETE`: order 1 is complete: it can't be reopened, changed or cancelled
             */
            409: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /**
             * @description Precondition Failed.
             *     - `PRECONDITION_FAILED`: what is stored has the ETag "4lopUGI33HG_w_A_43xix1" now, which If-Match does not name: read it again before you change it
             */
            412: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    updateOrder: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 412 unless the resource still has one of them. */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the order.
                 * @example 1
                 */
                orderId: number;
            };
            cookie?: never;
        };
        /** @description The changes to an open order. Absent fields stay unchanged. */
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "quantity": 3,
                 *       "shipDate": "2027-01-01T12:00:00Z",
                 *       "complete": true
                 *     }
                 */
                "application/json": components["schemas"]["OrderPatch"];
            };
        };
        responses: {
            /** @description An order. No field is required. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "petId": 1,
                     *       "quantity": 3,
                     *       "shipDate": "2027-01-01T12:00:00Z",
                     *       "complete": true
                     *     }
                     */
                    "application/json": components["schemas"]["Order"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /**
             * @description Not Found.
             *     - `ORDER_NOT_FOUND`: order 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Conflict.
             *     - `INSUFFICIENT_STOCK`: pet 1: quantity 5 is more than the 3 in stock
             *     - `ORDER_COMPLETE`: order 1 is complete: it can't be reopened, changed or cancelled
             */
            409: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /**
             * @description Precondition Failed.
             *     - `PRECONDITION_FAILED`: what is stored has the ETag "4lopUGI33HG_w_A_43xix1" now, which If-Match does not name: read it again before you change it
             */
            412: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    listInventory: {
        parameters: {
            query?: {
                /** @description Only entries with this status. */
                status?: components["schemas"]["PetStatus"];
                /** @description The maximum number of items, 1 to 100. Absent means 20. */
                limit?: number;
                /** @description The page token from the previous page. Absent or empty: the first page. */
                pageToken?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of inventory entries. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Link: components["headers"]["Link-Next"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "petId": 1,
                     *         "quantity": 12,
                     *         "status": "available"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Inventory"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    getInventoryItem: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 304 while the resource has one of them. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /**
                 * @description The id of the pet.
                 * @example 1
                 */
                petId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stock of one pet. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "petId": 1,
                     *       "quantity": 12,
                     *       "status": "available"
                     *     }
                     */
                    "application/json": components["schemas"]["InventoryItem"];
                };
            };
            /** @description The resource still has an `ETag` that `If-None-Match` names. There is no body. */
            304: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            /**
             * @description Not Found.
             *     - `INVENTORY_NOT_FOUND`: inventory entry of pet 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    setInventory: {
        parameters: {
            query?: never;
            header?: {
                /** @description One or more `ETag`s. The response is a 412 unless the resource still has one of them. */
                "If-Match"?: components["parameters"]["If-Match"];
            };
            path: {
                /**
                 * @description The id of the pet.
                 * @example 1
                 */
                petId: number;
            };
            cookie?: never;
        };
        /** @description The new stock count. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "quantity": 12
                 *     }
                 */
                "application/json": components["schemas"]["InventoryUpdate"];
            };
        };
        responses: {
            /** @description The stock of one pet. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "petId": 1,
                     *       "quantity": 12,
                     *       "status": "available"
                     *     }
                     */
                    "application/json": components["schemas"]["InventoryItem"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: quantity: value is required
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /**
             * @description Not Found.
             *     - `INVENTORY_NOT_FOUND`: inventory entry of pet 1 does not exist
             */
            404: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Precondition Failed.
             *     - `PRECONDITION_FAILED`: what is stored has the ETag "4lopUGI33HG_w_A_43xix1" now, which If-Match does not name: read it again before you change it
             */
            412: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description Only events after this id. Absent or 0: from the oldest that is kept. */
                after?: number;
                /** @description Only events of these types. Absent: all. */
                types?: ("pet.created" | "pet.updated" | "pet.deleted" | "category.created" | "category.updated" | "category.deleted" | "order.created" | "order.updated" | "order.deleted")[];
                /** @description The maximum number of events, 1 to 100. Absent means 20. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of events. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Link: components["headers"]["Link-Next"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": 1,
                     *         "type": "pet.updated",
                     *         "time": "2026-10-01T12:00:00.500Z",
                     *         "pet": {
                     *           "id": 1,
                     *           "name": "Tom",
                     *           "categoryId": 1,
                     *           "status": "available"
                     *         },
                     *         "inventory": {
                     *           "petId": 1,
                     *           "quantity": 12,
                     *           "status": "available"
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Events"];
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             *     - `EVENT_NOT_REACHED`: after: 7 has not been reached, the newest event is 3: the feed is older than what you have, as after a restored backup: read the lists again, then go on
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Gone.
             *     - `EVENTS_EXPIRED`: the events after 7 are not kept any more, the oldest is 1000: read the lists again, then go on
             */
            410: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    watchEvents: {
        parameters: {
            query?: {
                /** @description The stream goes on after this id. Absent: it begins now. `last_event_id` wins over it. */
                after?: number;
                /** @description Only events of these types. Absent: all. */
                types?: ("pet.created" | "pet.updated" | "pet.deleted" | "category.created" | "category.updated" | "category.deleted" | "order.created" | "order.updated" | "order.deleted")[];
                /** @description The same, for clients of server-sent events that can't send the header Last-Event-ID, which wins over this one. */
                lastEventId?: number;
            };
            header?: {
                /** @description The id of the last event that you have: the stream goes on after it. It wins over `lastEventId` and `after`. An empty one is none. */
                "Last-Event-ID"?: components["parameters"]["Last-Event-ID"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events. The data of each is one Event as JSON; that of `ready` is `{}`. A comment comes every 15 s while nothing happens. */
            200: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "type": "pet.updated",
                     *       "time": "2026-10-01T12:00:00.500Z",
                     *       "pet": {
                     *         "id": 1,
                     *         "name": "Tom",
                     *         "categoryId": 1,
                     *         "status": "available"
                     *       },
                     *       "inventory": {
                     *         "petId": 1,
                     *         "quantity": 12,
                     *         "status": "available"
                     *       }
                     *     }
                     */
                    "text/event-stream": components["schemas"]["Event"] | Record<string, never>;
                };
            };
            /**
             * @description Bad Request.
             *     - `INVALID_ARGUMENT`: colour: is not a query parameter here
             *     - `UNSUPPORTED_CONTENT_TYPE`: a request with a body must say "Content-Type: application/json"; this one says "text/plain"
             *     - `MALFORMED_BODY`: the request body can't be read: it is not JSON at byte 17
             *     - `EVENT_NOT_REACHED`: after: 7 has not been reached, the newest event is 3: the feed is older than what you have, as after a restored backup: read the lists again, then go on
             */
            400: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            /**
             * @description Gone.
             *     - `EVENTS_EXPIRED`: the events after 7 are not kept any more, the oldest is 1000: read the lists again, then go on
             */
            410: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /**
             * @description Too Many Requests.
             *     - `RATE_LIMITED`: the limit of 1000 per minute is used up: try again in 30 s
             *     - `API_KEY_BANNED`: the API key is banned for sending on after refusals: try again in 30 s, and back off after a 429
             *     - `TOO_MANY_STREAMS`: the account follows the events on 10 streams already: end one first
             */
            429: {
                headers: {
                    "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                    "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                    "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
}
