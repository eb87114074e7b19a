"""Operation counts beside the publications', and what each reduction is worth."""
