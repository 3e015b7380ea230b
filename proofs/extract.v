(** The program of checker.v in OCaml. *)
From Coq Require Import Extraction ExtrOcamlBasic.
From Privacyfunnel Require Import checker.
Extraction Language OCaml.
Extraction "checker.ml" accepts_LIP accepts_PML accepts_LDP.
