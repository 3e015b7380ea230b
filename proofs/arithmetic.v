(** Arithmetic of a real field, so that [ring] and [field] close equations of MathComp's numbers. *)
From mathcomp Require Import all_ssreflect all_algebra.
Require Export Ring Field.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Names.
Variable R : realFieldType.
Definition radd (a b : R) : R := a + b.
Definition rmul (a b : R) : R := a * b.
Definition ropp (a : R) : R := - a.
Definition rsub (a b : R) : R := a - b.
Definition rinv (a : R) : R := a^-1.
Definition rdiv (a b : R) : R := a / b.
Definition rmuln (a : R) (k : nat) : R := a *+ k.
Definition rexp (a : R) (k : nat) : R := a ^+ k.
Definition r0 : R := 0.
Definition r1 : R := 1.

Lemma ring_laws : ring_theory r0 r1 radd rmul rsub ropp eq.
Proof.
split=> //=; [exact: add0r | exact: addrC | exact: addrA | exact: mul1r | exact: mulrC | exact: mulrA
             | exact: mulrDl | exact: subrr].
Qed.

Lemma field_laws : field_theory r0 r1 radd rmul rsub ropp rdiv rinv eq.
Proof.
by split; [exact: ring_laws | apply/eqP; rewrite /r1 /r0 oner_eq0 | | move=> a /eqP; exact: mulVf].
Qed.

Lemma equal_le (a b : R) : a = b -> a <= b.
Proof. by move=> ->. Qed.

End Names.

(** Writes MathComp's operations under the names above, whichever structure they were found through. *)
Ltac plain R :=
  repeat match goal with
  | |- context [@GRing.add ?V ?a ?b] => change (@GRing.add V a b) with (@radd R a b)
  | |- context [@GRing.mul ?V ?a ?b] => change (@GRing.mul V a b) with (@rmul R a b)
  | |- context [@GRing.opp ?V ?a] => change (@GRing.opp V a) with (@ropp R a)
  | |- context [@GRing.inv ?V ?a] => change (@GRing.inv V a) with (@rinv R a)
  | |- context [@GRing.natmul ?V ?a ?k] => change (@GRing.natmul V a k) with (@rmuln R a k)
  | |- context [@GRing.exp ?V ?a ?k] => change (@GRing.exp V a k) with (@rexp R a k)
  | |- context [@GRing.zero ?V] => change (@GRing.zero V) with (@r0 R)
  | |- context [@GRing.one ?V] => change (@GRing.one V) with (@r1 R)
  end;
  match goal with |- @eq _ ?a ?b => change (@eq (Num.RealField.sort R) a b) end.
