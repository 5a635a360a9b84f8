"""From a PTX module to the intermediate representation."""
