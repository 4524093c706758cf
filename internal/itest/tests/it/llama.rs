//! The pipeline against llama.cpp's own server, offline, over a model that writes noise.
