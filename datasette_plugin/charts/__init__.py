"""Charts: what a figure of the cost review says and shows, and its drawing on the server."""
