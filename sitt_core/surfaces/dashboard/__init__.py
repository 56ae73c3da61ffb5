"""The browser dashboard's parts: theme, address, sidebar, cards, figures."""
