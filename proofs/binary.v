(** The check of certificate.v in binary whole numbers, so that Coq can run it on examples with large ones: two secrets,
    X of two bits. *)
From mathcomp Require Import all_ssreflect.
From Coq Require BinNat.
From Privacyfunnel Require Import certificate.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Notation "a +b b" := (BinNat.N.add a b) (at level 50, left associativity).
Notation "a *b b" := (BinNat.N.mul a b) (at level 40, left associativity).
Notation binary := BinNums.N.

Lemma leb_nat (a b : binary) : BinNat.N.leb a b = (nat_of_bin a <= nat_of_bin b).
Proof.
apply/idP/idP => [/BinNat.N.leb_le h|h].
  by rewrite -(BinNat.N.sub_add a b h) nat_of_add_bin leq_addl.
apply: contraTT h => /negP h; rewrite -ltnNge.
have /BinNat.N.le_succ_l h' : BinNat.N.lt b a by apply/BinNat.N.leb_gt; apply/negbTE/negP.
by rewrite -(BinNat.N.sub_add _ _ h') nat_of_add_bin -BinNat.N.add_1_l nat_of_add_bin leq_addl.
Qed.

Lemma sum_two_bits_nat (F : bool * bool -> nat) :
  \sum_x F x = F (true, true) + F (true, false) + (F (false, true) + F (false, false)).
Proof.
rewrite (eq_bigr (fun x => F (x.1, x.2))) => [|[] //].
by rewrite -(pair_bigA _ (fun a b => F (a, b))) /= !big_bool.
Qed.

Section Binary.
Implicit Types (n : bool -> bool * bool -> binary) (m row : bool * bool -> binary) (a b : binary).

Definition people_binary n m s :=
  n s (true, true) *b m (true, true) +b n s (true, false) *b m (true, false) +b
  (n s (false, true) *b m (false, true) +b n s (false, false) *b m (false, false)).
Definition everybody_binary n m := people_binary n m true +b people_binary n m false.
Definition both_binary m row x := m x *b row x.
Definition below_binary a b n m row s := BinNat.N.leb
  (people_binary n (both_binary m row) s *b everybody_binary n m *b b)
  (a *b (people_binary n m s *b everybody_binary n (both_binary m row))).
Definition above_binary a b n m row s := BinNat.N.leb
  (people_binary n m s *b everybody_binary n (both_binary m row) *b b)
  (a *b (people_binary n (both_binary m row) s *b everybody_binary n m)).

Variables (n : bool -> bool * bool -> binary) (n' : bool -> bool * bool -> nat).
Variables (m row : bool * bool -> binary) (m' row' : bool * bool -> nat) (a b : binary) (a' b' : nat).
Hypotheses (en : forall s x, n' s x = nat_of_bin (n s x)) (em : forall x, m' x = nat_of_bin (m x)).
Hypotheses (er : forall x, row' x = nat_of_bin (row x)) (ea : a' = nat_of_bin a) (eb : b' = nat_of_bin b).

Lemma people_of_binary (k : bool * bool -> binary) (k' : bool * bool -> nat) s : (forall x, k' x = nat_of_bin (k x)) ->
  people n' k' s = nat_of_bin (people_binary n k s).
Proof. by move=> ek; rewrite /people sum_two_bits_nat !en !ek /people_binary !nat_of_add_bin !nat_of_mul_bin. Qed.

Lemma everybody_of_binary (k : bool * bool -> binary) (k' : bool * bool -> nat) : (forall x, k' x = nat_of_bin (k x)) ->
  everybody n' k' = nat_of_bin (everybody_binary n k).
Proof. by move=> ek; rewrite /everybody big_bool !(people_of_binary _ ek) /everybody_binary nat_of_add_bin. Qed.

Let e_both x : both m' row' x = nat_of_bin (both_binary m row x).
Proof. by rewrite /both em er nat_of_mul_bin. Qed.

Lemma check_below_of_binary s : below_binary a b n m row s = check_below a' b' n' m' row' s.
Proof.
by rewrite /below_binary leb_nat !nat_of_mul_bin -!(people_of_binary _ e_both) -!(people_of_binary _ em)
  -!(everybody_of_binary e_both) -!(everybody_of_binary em) -ea -eb.
Qed.

Lemma check_above_of_binary s : above_binary a b n m row s = check_above a' b' n' m' row' s.
Proof.
by rewrite /above_binary leb_nat !nat_of_mul_bin -!(people_of_binary _ e_both) -!(people_of_binary _ em)
  -!(everybody_of_binary e_both) -!(everybody_of_binary em) -ea -eb.
Qed.

End Binary.
