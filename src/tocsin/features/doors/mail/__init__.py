"""Mail in: the listeners for SMTP and LMTP, and what is read of a mail."""
