"""The web page and the HTTP interface: `madn serve`. Read-only and stateless, with no game logic of its own."""
