# Needs npm, mono, mcs.
npm install --silent --prefix . nswag@14.7.1 >&2
tools=node_modules/nswag/bin/binaries/Win
mono $tools/NSwag.exe openapi2csclient /input:"$DOCUMENT" /output:Client.cs /namespace:Shop /wrapResponses:true \
  /operationGenerationMode:SingleClientFromOperationId >&2
cp $tools/Newtonsoft.Json.dll .
mcs -nowarn:0162,0472 -out:session.exe Client.cs session.cs -r:Newtonsoft.Json.dll -r:System.Net.Http \
  -r:System.ComponentModel.DataAnnotations -r:System.Runtime.Serialization >&2
mono session.exe
