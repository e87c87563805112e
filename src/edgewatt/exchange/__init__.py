"""Files of other tools: what they wrote is converted, what edgewatt wrote is exported."""
