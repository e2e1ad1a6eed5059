"""The web page and the HTTP interface: `madn serve`. Read-only, without state, no game logic of its own."""
