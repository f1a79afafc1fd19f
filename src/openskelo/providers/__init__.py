"""Model providers: one request, one answer. Retries, budgets and contracts are decided by the callers.

    request -> router -> experts.plan   chooses the expert and what it is sent (pure)
                      -> kinds/         one module for each kind of model API
                      -> prices         adds usage and cost to the answer
            <- Answer, or AttemptFailed with a code that says whether a retry may help (failure_codes)

`protocol` holds the types that all of them share, `config` the content of skelo.yaml about models.

Kinds: `remote` sends the requests of the kinds with an official client, `remote_api` describes their APIs, and
`remote_failure` maps their errors to failure codes. `llama` runs a local model. `scripted` answers from a list.

Schemas: `decoding_schema` rewrites a JSON Schema for a decoder that follows it token by token (with `schema_rewrites`),
`structured_output` for the structured output of an API.
"""
