"""Motions that show everything: designed, within limits, for identification."""
