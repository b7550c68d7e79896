"""What tests of several rooms share: cases, contracts, toys, and programs that run in processes of their own."""
