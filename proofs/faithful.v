(** Rows that can be counted. docs/theory.md, "Rows that can be counted".

    xs i is the value of row i of the table, Q x' x the channel; rows are redrawn independently. A channel is faithful to
    the table if the expected number of rows of each value stays what it is. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic channels.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Faithful.
Variables (R : realFieldType) (X : finType) (n : nat) (xs : 'I_n -> X) (Q : X -> X -> R) (A : pred X).

(** P(ys): the probability that the released table is ys *)
Definition probability (ys : {ffun 'I_n -> X}) := \prod_i Q (ys i) (xs i).
Definition mean (F : {ffun 'I_n -> X} -> R) := \sum_ys probability ys * F ys.

(** How many rows have a value in A *)
Definition original : R := \sum_i (A (xs i))%:R.
Definition released (ys : {ffun 'I_n -> X}) : R := \sum_i (A (ys i))%:R.

Definition count x : R := \sum_i (xs i == x)%:R.
Definition faithful := forall x', \sum_x count x * Q x' x = count x'.

(** e i: the probability that row i comes out in A *)
Definition e i := \sum_x Q x (xs i) * (A x)%:R.

Hypothesis Q_channel : channel Q.

Add Field Faithful_field : (@field_laws R).

Lemma mean_of_product (h : 'I_n -> X -> R) :
  mean (fun ys => \prod_i h i (ys i)) = \prod_i \sum_x Q x (xs i) * h i x.
Proof. by rewrite bigA_distr_bigA; apply: eq_bigr => ys _; rewrite -big_split. Qed.

Theorem probabilities_add_up : \sum_ys probability ys = 1.
Proof.
have := mean_of_product (fun _ _ => 1); rewrite /mean.
under eq_bigr => ys _ do rewrite big1 // mulr1.
by move=> ->; rewrite big1 // => i _; under eq_bigr => x _ do rewrite mulr1; exact: Q_channel.2.
Qed.

Lemma mean_sum (K : finType) (F : K -> {ffun 'I_n -> X} -> R) : mean (fun ys => \sum_k F k ys) = \sum_k mean (F k).
Proof.
by rewrite /mean exchange_big /=; apply: eq_bigr => ys _; rewrite mulr_sumr.
Qed.

Lemma same_mean F F' : F =1 F' -> mean F = mean F'.
Proof. by move=> h; apply: eq_bigr => ys _; rewrite h. Qed.

Let only (i : 'I_n) (a : X -> R) (k : 'I_n) x := if k == i then a x else 1.

Let only_sum i a k : \sum_x Q x (xs k) * only i a k x = if k == i then \sum_x Q x (xs i) * a x else 1.
Proof.
rewrite /only; case: eqP => [->//|_]; under eq_bigr => x _ do rewrite mulr1.
exact: Q_channel.2.
Qed.

Let only_at i a (ys : {ffun 'I_n -> X}) : \prod_k only i a k (ys k) = a (ys i).
Proof. by rewrite (bigD1 i) //= /only eqxx big1 ?mulr1 // => k /negPf ->. Qed.

Lemma mean_in i : mean (fun ys => (A (ys i))%:R) = e i.
Proof.
rewrite (@same_mean _ (fun ys => \prod_k only i (fun x => (A x)%:R) k (ys k))) => [|ys].
  by rewrite mean_of_product (bigD1 i) //= only_sum eqxx [X in _ * X]big1 ?mulr1 // => k ki; rewrite only_sum (negPf ki).
by rewrite only_at.
Qed.

Lemma mean_both i j : i != j -> mean (fun ys => (A (ys i))%:R * (A (ys j))%:R) = e i * e j.
Proof.
move=> ij; pose a x : R := (A x)%:R.
rewrite (@same_mean _ (fun ys => \prod_k (only i a k (ys k) * only j a k (ys k)))) => [|ys]; last first.
  by rewrite big_split /= !only_at.
rewrite (mean_of_product (fun k x => only i a k x * only j a k x)) (bigD1 i) //= (bigD1 j) /=; last by rewrite eq_sym.
rewrite mulrA [X in _ * X]big1 ?mulr1 => [|k /andP[/negPf ki /negPf kj]]; last first.
  by rewrite /only ki kj; under eq_bigr => x _ do rewrite !mulr1; exact: Q_channel.2.
rewrite /only !eqxx (negPf ij) eq_sym (negPf ij).
by congr (_ * _); apply: eq_bigr => x _; rewrite ?mulr1 ?mul1r.
Qed.

Hypothesis Q_faithful : faithful.

Lemma expected_is_original : \sum_i e i = original.
Proof.
have by_value (F : X -> R) : \sum_i F (xs i) = \sum_x count x * F x.
  under [RHS]eq_bigr => x _ do rewrite mulr_suml.
  rewrite exchange_big /=; apply: eq_bigr => i _.
  by rewrite (bigD1 (xs i)) //= eqxx mul1r big1 ?addr0 // => x /negPf; rewrite eq_sym => ->; rewrite mul0r.
rewrite /e (by_value (fun x => \sum_x' Q x' x * (A x')%:R)) /original (by_value (fun x => (A x)%:R)).
under eq_bigr => x _ do rewrite mulr_sumr.
rewrite exchange_big /=; apply: eq_bigr => x' _; rewrite -Q_faithful mulr_suml.
by apply: eq_bigr => x _; rewrite mulrA.
Qed.

(** The expected number of released rows in A is the number of original ones. *)
Theorem counts_are_unbiased : mean released = original.
Proof. by rewrite mean_sum -expected_is_original; apply: eq_bigr => i _; exact: mean_in. Qed.

(** Var = sum of e (1 - e) *)
Theorem variance_is : mean (fun ys => (released ys - original) ^+ 2) = \sum_i e i * (1 - e i).
Proof.
have square : mean (fun ys => released ys * released ys) = \sum_i e i * (1 - e i) + original * original.
  rewrite (@same_mean _ (fun ys => \sum_i \sum_j (A (ys i))%:R * (A (ys j))%:R)) => [|ys]; last first.
    by rewrite /released mulr_suml; apply: eq_bigr => i _; rewrite mulr_sumr.
  rewrite mean_sum -expected_is_original mulr_suml -big_split /=; apply: eq_bigr => i _.
  rewrite mean_sum mulr_sumr (bigD1 i) //= [X in _ = _ + X](bigD1 i) //= addrA; congr (_ + _); last first.
    by apply: eq_bigr => j ji; rewrite mean_both // eq_sym.
  rewrite mulrBr mulr1 subrK -mean_in; apply: same_mean => ys; by case: (A _); rewrite ?mulr1 ?mulr0.
have linear (c : R) : mean (fun ys => released ys * released ys - c * released ys * 2%:R + c * c) =
    mean (fun ys => released ys * released ys) - c * mean released * 2%:R + c * c.
  rewrite /mean; under eq_bigr => ys _ do rewrite mulrDr mulrBr [_ * (c * _ * _)]mulrA [_ * (c * _)]mulrCA.
  rewrite big_split sumrB /= -mulr_suml -mulr_suml -mulr_sumr; congr (_ + _).
  by rewrite probabilities_add_up mul1r.
rewrite (@same_mean _ (fun ys => released ys * released ys - original * released ys * 2%:R + original * original)).
  by rewrite linear square counts_are_unbiased mulr_natr mulr2n opprD !addrA addrK subrK.
by move=> ys; rewrite sqrrB -!expr2 mulr_natr [original * _]mulrC.
Qed.

(** At most that of n independent rows of which the share f is in A: n f (1 - f). *)
Theorem variance_at_most : (0 < n)%N ->
  mean (fun ys => (released ys - original) ^+ 2) <= n%:R * (original / n%:R) * (1 - original / n%:R).
Proof.
move=> n_gt0; have n_neq0 : n%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
rewrite variance_is; set f := original / n%:R.
have nf : n%:R * f = original by rewrite mulrC divfK.
have e_sum : \sum_i e i = n%:R * f by rewrite expected_is_original.
have squares : \sum_i (e i - f) ^+ 2 = \sum_i e i ^+ 2 - n%:R * f * f.
  under eq_bigr => i _ do rewrite sqrrB -mulr_natr -mulrA.
  rewrite big_split sumrB /= -mulr_suml e_sum sumr_const card_ord -[f ^+ 2 *+ n]mulr_natr expr2 [2%:R]mulr2n.
  by rewrite -!addrA; congr (_ + _); plain R; ring.
have spread : 0 <= \sum_i (e i - f) ^+ 2 by apply: sumr_ge0 => i _; exact: sqr_ge0.
under eq_bigr => i _ do rewrite mulrBr mulr1 -expr2.
rewrite sumrB e_sum mulrBr mulr1 ler_add2l ler_opp2 -subr_ge0.
by move: spread; rewrite squares.
Qed.

End Faithful.

(** ** False variants, refuted *)

(** Without faithfulness counts are biased: one row, which always comes out as the other value. *)
Theorem not_unbiased_without_faithful :
  ~ (forall (X : finType) (n : nat) (xs : 'I_n -> X) (Q : X -> X -> rat) (A : pred X),
       channel Q -> mean xs Q (@released _ _ _ A) = original _ xs A).
Proof.
move=> claim; pose flip (y x : bool) : rat := (y != x)%:R.
have hQ : channel flip by split=> [[] []|[]] //; rewrite big_bool.
have := claim _ 1%N (fun=> true) flip (pred1 true) hQ.
by rewrite /released mean_sum /original !big_ord1 mean_in // /e big_bool.
Qed.

(** The bound cannot be halved: two rows, redrawn from both values. *)
Theorem not_half_of_the_variance :
  ~ (forall (X : finType) (n : nat) (xs : 'I_n -> X) (Q : X -> X -> rat) (A : pred X), channel Q -> faithful xs Q ->
       (0 < n)%N -> mean xs Q (fun ys => (released _ A ys - original _ xs A) ^+ 2) <=
         n%:R * (original _ xs A / n%:R) * (1 - original _ xs A / n%:R) / 2%:R).
Proof.
move=> claim; pose half (y x : bool) : rat := 1 / 2%:R; pose xs (i : 'I_2) := i == ord0.
have hQ : channel half by split=> [[] []|[]] //; rewrite big_bool; vm_compute.
have counted x : count rat_realFieldType xs x = 1.
  by rewrite /count big_ord_recl big_ord1 /xs; case: x.
have hF : faithful xs half by move=> x'; rewrite counted big_bool !counted; vm_compute.
have := claim _ 2%N xs half (pred1 true) hQ hF isT.
by rewrite variance_is // /original !big_ord_recl !big_ord0 /e !big_bool; vm_compute.
Qed.
