using Google.Rpc;
using Grpc.Core;
using Grpc.Net.Client;
using Petstore.V1;

var (api, key) = (Environment.GetEnvironmentVariable("API")!, Environment.GetEnvironmentVariable("API_KEY"));
StatusCode[] repeated = [StatusCode.Unavailable, StatusCode.DeadlineExceeded, StatusCode.Internal, StatusCode.Unknown,
    StatusCode.Cancelled];
