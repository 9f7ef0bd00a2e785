"""The documentation as a site: pages, navigation and search, made from the Markdown in `docs/`."""
