"""Views: data → rich renderables or text. Pure; the command line prints them too."""
