(** What may be done to a release afterwards: merging, randomising, mixing with a constant, filling other columns.

    docs/theory.md, "How promises relate" (3), and docs/wide.md on filled columns. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic channels promises relations.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Every promise is linear in a row: sums of rows that keep it keep it. *)
Section Sums.
Variables (R : realFieldType) (S X K : finType) (p : S -> X -> R) (r : K -> X -> R) (a : K -> R).
Hypothesis a_ge0 : forall k, 0 <= a k.
Implicit Types (lo up g b : R).

Let sum x := \sum_k a k * r k x.

Lemma below_sum up s : (forall k, below up p (r k) s) -> below up p sum s.
Proof.
move=> h; rewrite /below mass_sum total_sum mulr_suml !mulr_sumr; apply: ler_sum => k _.
rewrite -mulrA [mass p s * _]mulrCA [up * _]mulrCA; apply: ler_wpmul2l => //; exact: h.
Qed.

Lemma above_sum lo s : (forall k, above lo p (r k) s) -> above lo p sum s.
Proof.
move=> h; rewrite /above mass_sum total_sum mulr_suml !mulr_sumr; apply: ler_sum => k _.
rewrite -[X in _ <= X]mulrA [mass p s * _]mulrCA [lo * _]mulrCA; apply: ler_wpmul2l => //; exact: h.
Qed.

Lemma close_sum g s t : (forall k, close g p (r k) s t) -> close g p sum s t.
Proof.
move=> h; rewrite /close !mass_sum !mulr_suml mulr_sumr; apply: ler_sum => k _.
rewrite -![a k * _ * _]mulrA [g * _]mulrCA; apply: ler_wpmul2l => //; exact: h.
Qed.

Lemma belief_sum b s : (forall k, mass (given p (r k)) s <= b * total (given p (r k))) ->
  mass (given p sum) s <= b * total (given p sum).
Proof.
move=> h; rewrite mass_sum total_sum mulr_sumr; apply: ler_sum => k _.
rewrite mulrCA; apply: ler_wpmul2l => //; exact: h.
Qed.

Lemma likelihood_sum : (forall k, likelihood (r k)) -> likelihood sum.
Proof. by move=> h x; apply: sumr_ge0 => k _; apply: mulr_ge0 => //; exact: h. Qed.

End Sums.

Section BeliefRows.
Variables (R : realFieldType) (S X : finType) (p : S -> X -> R) (r : X -> R) (b : R) (s : S).
Hypotheses (p_ge0 : weights p) (r_ge0 : likelihood r).

Lemma belief_atP : (0 < total (given p r) -> belief (given p r) s <= b) <->
  mass (given p r) s <= b * total (given p r).
Proof.
have hpr := weights_given p_ge0 r_ge0.
have [e|h] := eqVneq (total (given p r)) 0.
  by split=> _; rewrite e ?ltxx // mulr0 (total_0_mass s hpr e).
have t_gt0 := total_gt0 hpr h.
by rewrite /belief ler_pdivr_mulr //; split=> [|h' _]; [exact | ].
Qed.

End BeliefRows.

(** ** Post-processing *)
Section PostProcessing.
Variables (R : realFieldType) (S X Y Z : finType) (p : S -> X -> R) (Q : Y -> X -> R) (T : Z -> Y -> R).
Implicit Types (lo up g b : R).

(** The output y is turned into z with probability T z y. *)
Definition processed z x := \sum_y T z y * Q y x.

Hypothesis p_ge0 : weights p.
Hypothesis Q_channel : channel Q.
Hypothesis T_channel : channel T.

Let Q_ge0 y : likelihood (Q y). Proof. by move=> x; case: Q_channel. Qed.
Let T_ge0 z y : 0 <= T z y. Proof. by case: T_channel. Qed.
Let TQ_ge0 z : likelihood (processed z). Proof. exact: likelihood_sum. Qed.

Theorem processed_channel : channel processed.
Proof.
split=> [z x|x]; first exact: TQ_ge0.
rewrite exchange_big /= -[RHS](Q_channel.2 x); apply: eq_bigr => y _.
by rewrite -mulr_suml T_channel.2 mul1r.
Qed.

Theorem post_processing_ALIP lo up : ALIP lo up p Q -> ALIP lo up p processed.
Proof.
move=> h z; split.
  by apply/lift_aboveP => // s; apply: above_sum => // y; exact: (lift_aboveP _ p_ge0 (Q_ge0 y)).1 (h y).1 s.
by apply/lift_belowP => // s; apply: below_sum => // y; exact: (lift_belowP _ p_ge0 (Q_ge0 y)).1 (h y).2 s.
Qed.

Theorem post_processing_LIP g : LIP g p Q -> LIP g p processed.
Proof. exact: post_processing_ALIP. Qed.

Theorem post_processing_PML g : PML g p Q -> PML g p processed.
Proof.
move=> h z; apply/lift_belowP => // s; apply: below_sum => // y.
exact: (lift_belowP _ p_ge0 (Q_ge0 y)).1 (h y) s.
Qed.

Theorem post_processing_LDP g : LDP g p Q -> LDP g p processed.
Proof.
move=> h z; apply/lifts_closeP => // s t; apply: close_sum => // y.
exact: (lifts_closeP _ p_ge0 (Q_ge0 y)).1 (h y) s t.
Qed.

Theorem post_processing_belief b s : belief_at_most b p Q s -> belief_at_most b p processed s.
Proof.
move=> h z; apply/belief_atP => //; apply: belief_sum => // y; exact: (belief_atP _ _ p_ge0 (Q_ge0 y)).1 (h y).
Qed.

End PostProcessing.

Section PostProcessingSideChannels.
Variables (R : realFieldType) (S X Y Z I : finType) (A : eqType) (attr : I -> X -> A) (known : pred {set I}).
Variables (p : S -> X -> R) (Q : Y -> X -> R) (T : Z -> Y -> R) (g : R).
Hypotheses (p_ge0 : weights p) (Q_channel : channel Q) (T_channel : channel T).

Lemma knowing_ge0 J x0 : weights (knowing attr p J x0).
Proof. by apply: weights_given => // x; rewrite ler0n. Qed.

Theorem post_processing_SRLIP : SRLIP attr known g p Q -> SRLIP attr known g p (processed Q T).
Proof. by move=> h J x0 kJ; apply: post_processing_LIP => //; [exact: knowing_ge0 | exact: h]. Qed.

Theorem post_processing_SRLDP : SRLDP attr known g p Q -> SRLDP attr known g p (processed Q T).
Proof. by move=> h J x0 kJ; apply: post_processing_LDP => //; [exact: knowing_ge0 | exact: h]. Qed.

End PostProcessingSideChannels.

(** ** Mixing with a constant channel, which tells nothing *)
Section Mixing.
Variables (R : realFieldType) (S X Y : finType) (p : S -> X -> R) (Q : Y -> X -> R) (c : Y -> R) (eta : R).
Hypotheses (p_ge0 : weights p) (Q_channel : channel Q) (c_ge0 : forall y, 0 <= c y) (c_sum : \sum_y c y = 1).
Hypotheses (eta_ge0 : 0 <= eta) (eta_le1 : eta <= 1).

Definition mixed (K : Y -> X -> R) y x := (1 - eta) * Q y x + eta * K y x.
Let constant (y : Y) (x : X) := c y.

Let Q_ge0 y : likelihood (Q y). Proof. by move=> x; case: Q_channel. Qed.

Let rows y b x := (if b then Q else constant) y x.
Let share b := if b then 1 - eta else eta.
Let share_ge0 b : 0 <= share b. Proof. by case: b; rewrite /share ?subr_ge0. Qed.

Lemma mixed_is_sum y x : mixed constant y x = \sum_(b : bool) share b * rows y b x.
Proof. by rewrite big_bool. Qed.

Let mixed_ge0 y : likelihood (mixed constant y).
Proof. by move=> x; apply: addr_ge0; apply: mulr_ge0; rewrite ?subr_ge0 //; [exact: Q_ge0 | exact: c_ge0]. Qed.

Theorem mixed_channel : channel (mixed constant).
Proof.
split=> [y x|x]; first exact: mixed_ge0.
by rewrite big_split /= -!mulr_sumr Q_channel.2 c_sum !mulr1 subrK.
Qed.

Let same_mixed y s x : given p (mixed constant y) s x = given p (fun x => \sum_(b : bool) share b * rows y b x) s x.
Proof. by rewrite /given mixed_is_sum. Qed.

Theorem mixing_ALIP lo up : lo <= 1 -> 1 <= up -> ALIP lo up p Q -> ALIP lo up p (mixed constant).
Proof.
move=> lo_le1 up_ge1 h y; split.
  apply/lift_aboveP => // s; rewrite /above (same_total (same_mixed y)) (same_mass (same_mixed y s)).
  apply: above_sum => // -[]; first exact: (lift_aboveP _ p_ge0 (Q_ge0 y)).1 (h y).1 s.
  rewrite /above /rows mass_constant total_constant.
  by rewrite [mass p s * _]mulrCA -[X in _ <= X]mulrA ler_pimull // !mulr_ge0 ?mass_ge0 ?total_ge0.
apply/lift_belowP => // s; rewrite /below (same_total (same_mixed y)) (same_mass (same_mixed y s)).
apply: below_sum => // -[]; first exact: (lift_belowP _ p_ge0 (Q_ge0 y)).1 (h y).2 s.
rewrite /below /rows mass_constant total_constant.
by rewrite [mass p s * _]mulrCA -[X in X <= _]mulrA ler_pemull // !mulr_ge0 ?mass_ge0 ?total_ge0.
Qed.

Theorem mixing_LIP g : 1 <= g -> LIP g p Q -> LIP g p (mixed constant).
Proof. by move=> g_ge1; apply: mixing_ALIP => //; rewrite invf_le1 // (lt_le_trans ltr01). Qed.

Theorem mixing_LDP g : 1 <= g -> LDP g p Q -> LDP g p (mixed constant).
Proof.
move=> g_ge1 h y; apply/lifts_closeP => // s t.
rewrite /close !(same_mass (same_mixed y _)); apply: close_sum => // -[].
  exact: (lifts_closeP _ p_ge0 (Q_ge0 y)).1 (h y) s t.
rewrite /close /rows !mass_constant -!mulrA [mass p t * _]mulrC.
by rewrite ler_pemull // !mulr_ge0 ?mass_ge0.
Qed.

End Mixing.

(** ** Filling *)
Section Filling.
Variables (R : realFieldType) (S X C Y F : finType).

(** A record x has kept columns, kept x; y is drawn from them by Q. The filled columns are drawn from y (and what is in
    the file, which fixes Q and M) and fresh randomness: M f y = P(f|y). *)
Variables (kept : X -> C) (Q : Y -> C -> R) (M : F -> Y -> R).

Definition released y x := Q y (kept x).
Definition filled (yf : Y * F) x := Q yf.1 (kept x) * M yf.2 yf.1.

(** Whatever somebody expects beforehand (p: of the secret and the whole record, after all else that they know), filled
    columns change no belief. *)
Theorem filling_tells_nothing (p : S -> X -> R) y f s :
  M f y != 0 -> belief (given p (filled (y, f))) s = belief (given p (released y)) s.
Proof.
move=> hM; rewrite -(belief_scale p (released y) s hM).
by apply: same_belief => t x; rewrite /given /filled /released /= [_ * M f y]mulrC.
Qed.

Hypothesis M_channel : channel M.
Hypothesis Q_channel : channel Q.

Theorem filled_channel : channel filled.
Proof.
split=> [yf x|x]; first by rewrite mulr_ge0 //; [case: Q_channel | case: M_channel].
rewrite -(pair_bigA _ (fun y f => Q y (kept x) * M f y)) /= -[RHS](Q_channel.2 (kept x)).
by apply: eq_bigr => y _; rewrite -mulr_sumr M_channel.2 mulr1.
Qed.

(** So every promise of the kept columns is one of the whole released row. *)
Theorem filling_keeps_ALIP (p : S -> X -> R) lo up : weights p -> ALIP lo up p released -> ALIP lo up p filled.
Proof.
move=> p_ge0 h [y f]; have [e|hM] := eqVneq (M f y) 0.
  split=> s _; rewrite /total big1 ?ltxx // => t _; rewrite /mass big1 // => x _.
    by rewrite /given /filled /= e !mulr0.
  by rewrite /given /filled /= e !mulr0.
have M_gt0 : 0 < M f y by rewrite lt_def hM /=; case: M_channel.
have same t x : given p (filled (y, f)) t x = given p (fun x => M f y * released y x) t x.
  by rewrite /given /filled /released /= [M f y * _]mulrC.
by have [lo_y up_y] := h y; split=> s hs; rewrite (same_total same) total_scale pmulr_rgt0 // => ht;
  rewrite /lift filling_tells_nothing //; [exact: lo_y | exact: up_y].
Qed.

End Filling.

(** ** False variants, refuted *)

(** If filled columns may look at the record, they may tell everything. *)
Theorem not_filling_from_the_record :
  ~ (forall (S X Y F : finType) (p : S -> X -> rat) (Q : Y -> X -> rat) (M : F -> X -> rat) y f s,
       distribution p -> channel Q -> channel M -> 0 < total (given p (fun x => Q y x * M f x)) ->
       belief (given p (fun x => Q y x * M f x)) s = belief (given p (Q y)) s).
Proof.
move=> claim; pose nothing (_ : unit) (_ : bool) : rat := 1.
have h0 : channel nothing by split=> // x; rewrite big_const card_unit /= addr0.
have h1 : channel shown by split=> [[] []|[]] //; rewrite big_bool.
have := claim _ _ _ _ _ nothing shown tt true true fair_bit_law h0 h1.
by rewrite /belief /total /mass !big_bool; vm_compute => /(_ isT).
Qed.

(** Mixing keeps a promise because the other channel is constant. *)
Theorem not_mixing_with_any_channel :
  ~ (forall (S X Y : finType) (p : S -> X -> rat) (Q K : Y -> X -> rat) eta g,
       distribution p -> channel Q -> channel K -> 0 <= eta -> eta <= 1 -> 1 <= g ->
       LIP g p Q -> LIP g p (mixed Q eta K)).
Proof.
move=> claim; have p_ge0 := fair_bit_law.1.
have hK : channel shown by split=> [[] []|[]] //; rewrite big_bool.
have Q_ge0 y : likelihood (three_quarters y) by move=> x; case: three_quarters_channel.
have lip : LIP 2%:R fair_bit three_quarters.
  by move=> y; split; [apply/lift_aboveP | apply/lift_belowP] => // s;
    rewrite /above /below /total /mass !big_bool; case: y s => [] []; vm_compute.
have [_ _] := claim _ _ _ _ _ _ 1 _ fair_bit_law three_quarters_channel hK ler01 (lexx 1) (ler1n _ 2) lip true.
have [lo _] := claim _ _ _ _ _ _ 1 _ fair_bit_law three_quarters_channel hK ler01 (lexx 1) (ler1n _ 2) lip true.
have ge0 : likelihood (mixed three_quarters 1 shown true) by case.
move/(lift_aboveP _ p_ge0 ge0)/(_ false): lo.
by rewrite /above /total /mass !big_bool; vm_compute.
Qed.

(** What is done afterwards must not look at the value of X again. *)
Theorem not_post_processing_with_the_record :
  ~ (forall (S X Y Z : finType) (p : S -> X -> rat) (Q : Y -> X -> rat) (T : Z -> Y -> X -> rat) g,
       distribution p -> channel Q -> (forall x, channel (fun z y => T z y x)) -> 1 <= g ->
       LIP g p Q -> LIP g p (fun z x => \sum_y T z y x * Q y x)).
Proof.
move=> claim; have p_ge0 := fair_bit_law.1.
have hT x : channel (fun z (_ : bool) => shown z x) by split=> [[] _|_]; rewrite ?big_bool; case: x.
have Q_ge0 y : likelihood (three_quarters y) by move=> x; case: three_quarters_channel.
have lip : LIP 2%:R fair_bit three_quarters.
  by move=> y; split; [apply/lift_aboveP | apply/lift_belowP] => // s;
    rewrite /above /below /total /mass !big_bool; case: y s => [] []; vm_compute.
have [lo _] := claim _ _ _ _ _ _ (fun z (_ : bool) x => shown z x) _ fair_bit_law three_quarters_channel hT
  (ler1n _ 2) lip true.
have ge0 : likelihood (fun x => \sum_(y : bool) shown true x * three_quarters y x).
  by move=> x; rewrite big_bool; case: x; vm_compute.
move/(lift_aboveP _ p_ge0 ge0)/(_ false): lo.
by rewrite /above /given /total /mass !big_bool; vm_compute.
Qed.
