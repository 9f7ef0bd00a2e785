"""The browser interface: modules without a build step, and the routes that serve them."""
