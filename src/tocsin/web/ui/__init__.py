"""What the browser runs: modules without a build, and what serves them."""
