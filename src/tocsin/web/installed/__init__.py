"""The dashboard as an app on a device: its manifest, its icons and its service worker."""
