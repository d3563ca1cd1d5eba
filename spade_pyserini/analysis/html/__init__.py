"""Self-contained HTML pages with tables and inline SVG charts. All functions escape text."""
