(** Gaussian noise: no single file is excepted, but a chance delta is added to every probability.
    docs/theory.md, "Models of wide tables", theorems 1 and 2.

    P f s x is the probability of the file f if the person's record is (s, x), M f that without the person. An event is
    T f y: the chance, between 0 and 1, that it happens with the file f and the person's row y; what other people's rows
    do to it is in T. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic channels promises relations.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section WithDelta.
Variables (R : realFieldType) (S X F Y : finType).
Variables (P : F -> S -> X -> R) (M : F -> R) (Q : F -> Y -> X -> R).
Implicit Types (p : S -> X -> R) (T : F -> Y -> R) (a g delta : R).

Definition event T := forall f y, 0 <= T f y /\ T f y <= 1.

(** The chance that T happens given the file f and the value x, and the mean of that over files *)
Definition happens T x f := \sum_y T f y * Q f y x.
Definition mean (law : F -> R) (t : F -> R) := \sum_f law f * t f.

(** The law of the file for somebody with (s, x) *)
Definition file s x f := P f s x.

(** P(T | s, x), P(T, s) and P(T), for somebody who expects p *)
Definition chance_given T s x := mean (file s x) (happens T x).
Definition chance_with p T s := \sum_x p s x * chance_given T s x.
Definition chance_of p T := \sum_s chance_with p T s.

(** (epsilon, delta)-privacy, a = e^epsilon, as it is used here: for every t between 0 and 1 *)
Definition private_between a delta (law law' : F -> R) :=
  forall t : F -> R, (forall f, 0 <= t f) -> (forall f, t f <= 1) -> mean law t <= a * mean law' t + delta.

Hypothesis Q_channel : forall f, channel (Q f).

Let Q_ge0 f y x : 0 <= Q f y x. Proof. by case: (Q_channel f). Qed.

Lemma happens_ge0 T x f : event T -> 0 <= happens T x f.
Proof. by move=> hT; apply: sumr_ge0 => y _; rewrite mulr_ge0 //; case: (hT f y). Qed.

Lemma happens_le1 T x f : event T -> happens T x f <= 1.
Proof.
move=> hT; rewrite -((Q_channel f).2 x); apply: ler_sum => y _.
by rewrite -[X in _ <= X]mul1r ler_wpmul2r //; case: (hT f y).
Qed.

(** Theorem 1: they know x. P(T|s) <= a P(T|t) + delta. *)
Theorem theorem_1_with_delta a delta T s t x : event T ->
  private_between a delta (file s x) (file t x) -> chance_given T s x <= a * chance_given T t x + delta.
Proof. by move=> hT; apply=> f; [exact: happens_ge0 | exact: happens_le1]. Qed.

(** For one file of the event, the promise of its channel bounds the chance of the event given s by that on average. *)
Lemma promise_of_the_file g p T s f : distribution p -> event T -> 0 <= g ->
  (forall y, T f y != 0 -> forall s, below g p (Q f y) s) ->
  \sum_x p s x * happens T x f <= g * (mass p s * \sum_t \sum_x p t x * happens T x f).
Proof.
move=> [p_ge0 p_1] hT g_ge0 keeps.
have swap t : \sum_x p t x * happens T x f = \sum_y T f y * mass (given p (Q f y)) t.
  under eq_bigr => x _ do rewrite /happens mulr_sumr.
  rewrite exchange_big; apply: eq_bigr => y _; rewrite /mass mulr_sumr.
  by apply: eq_bigr => x _; rewrite /given mulrCA.
have -> : \sum_t \sum_x p t x * happens T x f = \sum_y T f y * total (given p (Q f y)).
  under eq_bigr => t _ do rewrite swap.
  by rewrite exchange_big; apply: eq_bigr => y _; rewrite /total mulr_sumr.
rewrite swap !mulr_sumr; apply: ler_sum => y _.
have [->|ne] := eqVneq (T f y) 0; first by rewrite !mul0r !mulr0.
rewrite [mass p s * _]mulrCA [g * _]mulrCA; apply: ler_wpmul2l; first by case: (hT f y).
by have := keeps y ne s; rewrite /below p_1 mulr1.
Qed.

Lemma promise_of_the_file_below g p T s f : distribution p -> event T -> 0 <= g ->
  (forall y, T f y != 0 -> forall s, above g^-1 p (Q f y) s) -> 0 < g ->
  mass p s * (\sum_t \sum_x p t x * happens T x f) <= g * \sum_x p s x * happens T x f.
Proof.
move=> [p_ge0 p_1] hT g_ge0 keeps g_gt0.
have swap t : \sum_x p t x * happens T x f = \sum_y T f y * mass (given p (Q f y)) t.
  under eq_bigr => x _ do rewrite /happens mulr_sumr.
  rewrite exchange_big; apply: eq_bigr => y _; rewrite /mass mulr_sumr.
  by apply: eq_bigr => x _; rewrite /given mulrCA.
have -> : \sum_t \sum_x p t x * happens T x f = \sum_y T f y * total (given p (Q f y)).
  under eq_bigr => t _ do rewrite swap.
  by rewrite exchange_big; apply: eq_bigr => y _; rewrite /total mulr_sumr.
rewrite swap !mulr_sumr; apply: ler_sum => y _.
have [->|ne] := eqVneq (T f y) 0; first by rewrite !mul0r !mulr0.
rewrite [mass p s * _]mulrCA [g * _]mulrCA; apply: ler_wpmul2l; first by case: (hT f y).
by have := keeps y ne s; rewrite /above p_1 mulr1 ler_pdivr_mull.
Qed.

(** Sums over records of means over files are means over files of sums over records. *)
Lemma mean_of_records (law : F -> R) (q : S -> X -> R) T s :
  \sum_x q s x * mean law (happens T x) = mean law (fun f => \sum_x q s x * happens T x f).
Proof.
rewrite /mean; under eq_bigr => x _ do rewrite mulr_sumr.
rewrite exchange_big; apply: eq_bigr => f _; rewrite mulr_sumr.
by apply: eq_bigr => x _; rewrite mulrCA.
Qed.

Lemma mean_of_all_records (law : F -> R) (q : S -> X -> R) T :
  \sum_s \sum_x q s x * mean law (happens T x) = mean law (fun f => \sum_s \sum_x q s x * happens T x f).
Proof.
under eq_bigr => s _ do rewrite mean_of_records.
rewrite exchange_big; apply: eq_bigr => f _; by rewrite mulr_sumr.
Qed.

Section Theorem2.
Variables (p : S -> X -> R) (T : F -> Y -> R) (a g delta : R).
Hypotheses (p_law : distribution p) (hT : event T) (a_ge0 : 0 <= a) (g_ge1 : 1 <= g) (delta_ge0 : 0 <= delta).
Hypothesis M_ge0 : forall f, 0 <= M f.
Hypothesis to_M : forall s x, private_between a delta (file s x) M.
Hypothesis from_M : forall s x, private_between a delta M (file s x).

(** The event is about files whose channel keeps the promise for p, p fixed beforehand. *)
Hypothesis keeps : forall f y, T f y != 0 -> LIP g p (Q f).

Let p_ge0 : weights p. Proof. by case: p_law. Qed.
Let g_gt0 : 0 < g. Proof. exact: lt_le_trans ltr01 g_ge1. Qed.
Let fQ_ge0 f y : likelihood (Q f y). Proof. by move=> x; exact: Q_ge0. Qed.

Lemma to_M_for s : chance_with p T s <= a * mean M (fun f => \sum_x p s x * happens T x f) + delta * mass p s.
Proof.
rewrite -mean_of_records mulr_sumr /mass mulr_sumr -big_split /=; apply: ler_sum => x _.
have := ler_wpmul2l (p_ge0 s x) (to_M s x (fun f => happens_ge0 x f hT) (fun f => happens_le1 x f hT)).
by rewrite mulrDr mulrCA [p s x * delta]mulrC.
Qed.

Lemma from_M_for s : mean M (fun f => \sum_x p s x * happens T x f) <= a * chance_with p T s + delta * mass p s.
Proof.
rewrite -mean_of_records mulr_sumr /mass mulr_sumr -big_split /=; apply: ler_sum => x _.
have := ler_wpmul2l (p_ge0 s x) (from_M s x (fun f => happens_ge0 x f hT) (fun f => happens_le1 x f hT)).
by rewrite mulrDr mulrCA [p s x * delta]mulrC.
Qed.

Let everybody_M := mean M (fun f => \sum_s \sum_x p s x * happens T x f).

Lemma sum_of_means : everybody_M = \sum_s mean M (fun f => \sum_x p s x * happens T x f).
Proof.
rewrite /everybody_M -mean_of_all_records; by apply: eq_bigr => s _; rewrite mean_of_records.
Qed.

Lemma to_M_all : chance_of p T <= a * everybody_M + delta.
Proof.
rewrite sum_of_means mulr_sumr -[delta]mulr1 -p_law.2 mulr_sumr -big_split; apply: ler_sum => s _; exact: to_M_for.
Qed.

Lemma from_M_all : everybody_M <= a * chance_of p T + delta.
Proof.
rewrite sum_of_means mulr_sumr -[X in _ + X]mulr1 -p_law.2 mulr_sumr -big_split; apply: ler_sum => s _.
exact: from_M_for.
Qed.

Add Field Delta_field : (@field_laws R).

(** P(T|s) <= a^2 g P(T) + delta (1 + a g), multiplied by P(s) *)
Theorem theorem_2_with_delta_above s :
  chance_with p T s <= (a * a * g * chance_of p T + delta * (1 + a * g)) * mass p s.
Proof.
have step : mean M (fun f => \sum_x p s x * happens T x f) <= g * mass p s * everybody_M.
  rewrite /everybody_M /mean mulr_sumr; apply: ler_sum => f _; rewrite [g * _ * _]mulrCA.
  apply: ler_wpmul2l => //; rewrite -mulrA; apply: promise_of_the_file; rewrite ?(ltW g_gt0) // => y ne t.
  by have [_ up] := keeps ne y; exact: (lift_belowP _ p_ge0 (fQ_ge0 f y)).1 up t.
have c_ge0 : 0 <= a * (g * mass p s) by rewrite !mulr_ge0 ?(ltW g_gt0) // mass_ge0.
apply: le_trans (to_M_for s) _.
apply: le_trans (ler_add (ler_wpmul2l a_ge0 step) (lexx _)) _.
have := ler_wpmul2l c_ge0 from_M_all; rewrite -(ler_add2r (delta * mass p s)).
by congr (_ <= _); plain R; ring.
Qed.

(** P(T) <= a^2 g P(T|s) + delta (1 + a g), multiplied by P(s) *)
Theorem theorem_2_with_delta_below s :
  chance_of p T * mass p s <= a * a * g * chance_with p T s + delta * (1 + a * g) * mass p s.
Proof.
have step : mass p s * everybody_M <= g * mean M (fun f => \sum_x p s x * happens T x f).
  rewrite /everybody_M /mean !mulr_sumr; apply: ler_sum => f _; rewrite mulrCA [g * _]mulrCA.
  apply: ler_wpmul2l => //; apply: promise_of_the_file_below; rewrite ?(ltW g_gt0) // => y ne t.
  by have [lo _] := keeps ne y; exact: (lift_aboveP _ p_ge0 (fQ_ge0 f y)).1 lo t.
have m_ge0 : 0 <= mass p s by exact: mass_ge0.
have ag_ge0 : 0 <= a * g by rewrite mulr_ge0 // ltW.
have h1 := ler_wpmul2r m_ge0 to_M_all.
have h2 := ler_wpmul2l a_ge0 step.
have h3 := ler_wpmul2l ag_ge0 (from_M_for s).
apply: le_trans h1 _.
have -> : (a * everybody_M + delta) * mass p s = a * (mass p s * everybody_M) + delta * mass p s by plain R; ring.
apply: le_trans (ler_add h2 (lexx _)) _.
rewrite mulrA; apply: le_trans (ler_add h3 (lexx _)) _.
by apply: equal_le; plain R; ring.
Qed.

End Theorem2.

End WithDelta.

(** ** False variants, refuted *)

(** Without delta: a file that only one secret can lead to, with a chance of one in ten. *)
Theorem not_theorem_1_without_delta :
  ~ (forall (S X F Y : finType) (P : F -> S -> X -> rat) (Q : F -> Y -> X -> rat) a delta (T : F -> Y -> rat) s t x,
       (forall f, channel (Q f)) -> event T -> private_between a delta (file P s x) (file P t x) ->
       chance_given P Q T s x <= a * chance_given P Q T t x).
Proof.
move=> claim.
pose P (f s : bool) (_ : bool) : rat := if f then (if s then 1 / 10%:R else 0) else (if s then 9%:R / 10%:R else 1).
pose Q (_ _ _ : bool) : rat := 1 / 2%:R; pose T (f _ : bool) : rat := f%:R.
have Q_channel f : channel (Q f) by split=> // x; rewrite big_bool; vm_compute.
have hT : event T by case.
have near : private_between 2%:R (1 / 10%:R) (file P true true) (file P false true).
  move=> t t_ge0 t_le1; rewrite /mean !big_bool /file /P /= mul0r add0r !mul1r addrC; apply: ler_add.
    by apply: ler_wpmul2r.
  by rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l.
have := claim _ _ _ _ P Q _ _ T true false true Q_channel hT near.
by rewrite /chance_given /mean /happens !big_bool; vm_compute.
Qed.

(** The event must be about files whose channel keeps the promise. *)
Theorem not_theorem_2_without_the_promise :
  ~ (forall (S X F Y : finType) (P : F -> S -> X -> rat) (M : F -> rat) (Q : F -> Y -> X -> rat) p T a g delta s,
       (forall f, channel (Q f)) -> distribution p -> event T -> 0 <= a -> 1 <= g -> 0 <= delta ->
       (forall f, 0 <= M f) -> (forall s x, private_between a delta (file P s x) M) ->
       (forall s x, private_between a delta M (file P s x)) ->
       chance_with P Q p T s <= (a * a * g * chance_of P Q p T + delta * (1 + a * g)) * mass p s).
Proof.
move=> claim; pose P (_ _ _ : bool) : rat := 1 / 2%:R; pose M (_ : bool) : rat := 1 / 2%:R.
pose T (_ y : bool) : rat := y%:R.
have Q_channel (f : bool) : channel shown by split=> [[] []|[]] //; rewrite big_bool.
have hT : event T by move=> f [].
have near s x : private_between 1 0 (file P s x) M by move=> t _ _; rewrite mul1r addr0.
have near' s x : private_between 1 0 M (file P s x) by move=> t _ _; rewrite mul1r addr0.
have := claim _ _ _ _ P M (fun=> shown) fair_bit T 1 1 0 true Q_channel fair_bit_law hT ler01 (lexx 1) (lexx 0)
  (fun=> isT) near near'.
by rewrite /chance_of /chance_with /chance_given /mean /happens /mass !big_bool; vm_compute.
Qed.
