/** In place of parts of the diff component that this page never asks for. */
export {}
