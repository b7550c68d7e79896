"""Tables 2 and 3: phone recognition on TIMIT, from sound to phone error rates."""
