"""Task jobs: work with a state, a branch of its own and a work tree."""
