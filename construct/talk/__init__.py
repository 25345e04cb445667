"""One turn of the conversation: request, model, tools, ledger.

`Responder` runs a turn. Its ledger keeps the messages: in the database (`StoredLedger`),
or in this process only, for private talk (`PrivateLedger`).
"""
