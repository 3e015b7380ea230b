(** What may be done to a release afterwards: merging, randomising, mixing with a constant, filling other columns.

    docs/theory.md, "How promises relate" (3). *)
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

Theorem mixing_PML g : 1 <= g -> PML g p Q -> PML g p (mixed constant).
Proof.
move=> g_ge1 h y; have zero : ALIP 0 g p Q.
  by move=> z; split; [apply/lift_aboveP => // s; exact: above_0 | exact: h].
by case: (mixing_ALIP ler01 g_ge1 zero y).
Qed.

(** Beliefs before are the mean of those after, and so below b, too. *)
Theorem mixing_belief b s : belief_at_most b p Q s -> belief_at_most b p (mixed constant) s.
Proof.
move=> h y; have before : mass p s <= b * total p.
  have sums (t : S) : mass p t = \sum_y1 1 * mass (given p (Q y1)) t.
    rewrite -mass_sum; apply: eq_bigr => x _; under [X in _ = _ * X]eq_bigr => y1 _ do rewrite mul1r.
    by rewrite Q_channel.2 mulr1.
  have -> : total p = \sum_y1 1 * total (given p (Q y1)).
    by rewrite -total_sum; apply: eq_bigr => t _; rewrite sums mass_sum.
  rewrite sums mulr_sumr; apply: ler_sum => y1 _; rewrite !mul1r.
  exact: (belief_atP _ _ p_ge0 (Q_ge0 y1)).1 (h y1).
apply/belief_atP => //; rewrite (same_total (same_mixed y)) (same_mass (same_mixed y s)); apply: belief_sum => // -[].
  exact: (belief_atP _ _ p_ge0 (Q_ge0 y)).1 (h y).
by rewrite /rows mass_constant total_constant [b * _]mulrCA ler_wpmul2l.
Qed.

End Mixing.

Section MixingSideChannels.
Variables (R : realFieldType) (S X Y I : finType) (A : eqType) (attr : I -> X -> A) (known : pred {set I}).
Variables (p : S -> X -> R) (Q : Y -> X -> R) (c : Y -> R) (eta g : R).
Hypotheses (p_ge0 : weights p) (Q_channel : channel Q) (c_ge0 : forall y, 0 <= c y).
Hypotheses (eta_ge0 : 0 <= eta) (eta_le1 : eta <= 1) (g_ge1 : 1 <= g).

Theorem mixing_SRLIP : SRLIP attr known g p Q -> SRLIP attr known g p (mixed Q eta (fun y _ => c y)).
Proof. by move=> h J x0 kJ; apply: mixing_LIP => //; [exact: knowing_ge0 | exact: h]. Qed.

Theorem mixing_SRLDP : SRLDP attr known g p Q -> SRLDP attr known g p (mixed Q eta (fun y _ => c y)).
Proof. by move=> h J x0 kJ; apply: mixing_LDP => //; [exact: knowing_ge0 | exact: h]. Qed.

End MixingSideChannels.

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

(** To fill is to turn the output y into (y, f). *)
Let fill (yf : Y * F) y := (yf.1 == y)%:R * M yf.2 y.

Let filled_is_processed yf x : filled yf x = processed released fill yf x.
Proof.
rewrite /processed (bigD1 yf.1) //= big1 => [|y /negPf ne]; last by rewrite /fill eq_sym ne !mul0r.
by rewrite /fill eqxx mul1r addr0 mulrC.
Qed.

Let released_channel : channel released.
Proof. by split=> [y x|x]; [exact: Q_channel.1 | exact: Q_channel.2]. Qed.

Let fill_channel : channel fill.
Proof.
split=> [yf y|y]; first by rewrite mulr_ge0 ?ler0n //; case: M_channel.
rewrite -(pair_bigA _ (fun z f => (z == y)%:R * M f y)) /= (bigD1 y) //= [X in _ + X]big1 => [|z /negPf ne].
  by under eq_bigr => f _ do rewrite eqxx mul1r; rewrite addr0 M_channel.2.
by rewrite big1 // => f _; rewrite ne mul0r.
Qed.

Let same_filled (p : S -> X -> R) yf s x : given p (processed released fill yf) s x = given p (filled yf) s x.
Proof. by rewrite /given filled_is_processed. Qed.

Theorem filled_channel : channel filled.
Proof.
have h := processed_channel released_channel fill_channel.
by split=> [yf x|x]; [|rewrite -(h.2 x); apply: eq_bigr => yf _]; rewrite filled_is_processed //; exact: h.1.
Qed.

(** So every promise of the kept columns is one of the whole released row. *)
Theorem filling_keeps_ALIP (p : S -> X -> R) lo up : weights p -> ALIP lo up p released -> ALIP lo up p filled.
Proof.
move=> p_ge0 h yf; have [l u] := post_processing_ALIP p_ge0 released_channel fill_channel h yf.
split=> s; rewrite -(same_total (same_filled p yf)) /lift -(same_belief s (same_filled p yf)); [exact: l | exact: u].
Qed.

Theorem filling_keeps_LIP (p : S -> X -> R) g : weights p -> LIP g p released -> LIP g p filled.
Proof. exact: filling_keeps_ALIP. Qed.

Theorem filling_keeps_PML (p : S -> X -> R) g : weights p -> PML g p released -> PML g p filled.
Proof.
move=> p_ge0 h yf s; have := @post_processing_PML _ _ _ _ _ p _ _ p_ge0 released_channel fill_channel _ h yf s.
by rewrite -(same_total (same_filled p yf)) /lift -(same_belief s (same_filled p yf)).
Qed.

Theorem filling_keeps_LDP (p : S -> X -> R) g : weights p -> LDP g p released -> LDP g p filled.
Proof.
move=> p_ge0 h yf s t; have := @post_processing_LDP _ _ _ _ _ p _ _ p_ge0 released_channel fill_channel _ h yf s t.
by rewrite /chance -!(same_mass (same_filled p yf _)).
Qed.

Theorem filling_keeps_belief (p : S -> X -> R) b s : weights p ->
  belief_at_most b p released s -> belief_at_most b p filled s.
Proof.
move=> p_ge0 h yf; have := @post_processing_belief _ _ _ _ _ p _ _ p_ge0 released_channel fill_channel _ _ h yf.
by rewrite -(same_total (same_filled p yf)) -(same_belief s (same_filled p yf)).
Qed.

(** For those, too, who know some of the person's columns before: as promised for the kept ones. *)
Theorem filling_keeps_SRLIP (I : finType) (A : eqType) (attr : I -> X -> A) known (p : S -> X -> R) g :
  weights p -> SRLIP attr known g p released -> SRLIP attr known g p filled.
Proof. by move=> p_ge0 h J x0 kJ; apply: filling_keeps_LIP; [exact: knowing_ge0 | exact: h]. Qed.

Theorem filling_keeps_SRLDP (I : finType) (A : eqType) (attr : I -> X -> A) known (p : S -> X -> R) g :
  weights p -> SRLDP attr known g p released -> SRLDP attr known g p filled.
Proof. by move=> p_ge0 h J x0 kJ; apply: filling_keeps_LDP; [exact: knowing_ge0 | exact: h]. Qed.

End Filling.

(** ** Filling, and everybody else

    A world says what the whole table is: the record of i has the kept columns kept w i. Somebody holds worlds possible
    with weights law w. What they know of them, of this person and of all others, is K w (1 where it is so, 0 elsewhere;
    or the chance of whatever else they have seen). The file is what it is with probability P w; it fixes Q and M. *)
Section Everybody.
Variables (R : realFieldType) (S C Y F Person World : finType).
Variables (law P K : World -> R) (kept : World -> Person -> C) (Q : Y -> C -> R) (M : F -> Y -> R).

(** The chances of the file and of everybody's kept columns, and those of the filled ones besides *)
Definition rows (ys : Person -> Y) w := P w * K w * \prod_i Q (ys i) (kept w i).
Definition filled_rows (ys : Person -> Y) (fs : Person -> F) w := rows ys w * \prod_i M (fs i) (ys i).

(** What they expect of somebody's secret *)
Definition expected (secret : World -> S) s w : R := if secret w == s then law w else 0.

(** P(s | y, f, file, K) = P(s | y, file, K), of anybody's secret, y and f being everybody's released rows. *)
Theorem filling_tells_nothing_of_anybody (secret : World -> S) ys fs s :
  (forall i, M (fs i) (ys i) != 0) ->
  belief (given (expected secret) (filled_rows ys fs)) s = belief (given (expected secret) (rows ys)) s.
Proof.
move=> possible; have M_neq0 : \prod_i M (fs i) (ys i) != 0 by apply/prodf_neq0.
rewrite -(belief_scale (expected secret) (rows ys) s M_neq0).
by apply: same_belief => t w; rewrite /given /filled_rows [rows ys w * _]mulrC.
Qed.

End Everybody.

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

(** If M was made of the table and is not fixed by the file, filled columns tell of everybody what M does. *)
Theorem not_filling_from_a_model_that_is_not_published :
  ~ (forall (S C Y F Person World : finType) (law P K : World -> rat) (kept : World -> Person -> C)
       (Q : Y -> C -> rat) (M : World -> F -> Y -> rat) (secret : World -> S) ys fs s,
       (forall w, 0 <= law w) -> channel Q -> (forall w, channel (M w)) ->
       0 < total (given (expected law secret) (fun w => rows P K kept Q ys w * \prod_i M w (fs i) (ys i))) ->
       belief (given (expected law secret) (fun w => rows P K kept Q ys w * \prod_i M w (fs i) (ys i))) s =
       belief (given (expected law secret) (rows P K kept Q ys)) s).
Proof.
move=> claim; pose nothing (_ _ : unit) : rat := 1.
have hQ : channel nothing by split=> // x; rewrite big_const card_unit /= addr0.
pose M (w f : bool) (_ : unit) : rat := shown f w.
have hM w : channel (M w) by split=> [[] []|[]]; rewrite ?big_bool; case: w.
have := claim _ _ _ _ unit_finType _ (fun=> 1) (fun=> 1) (fun=> 1) (fun _ _ => tt) nothing M id (fun=> tt)
  (fun=> true) true (fun=> ler01) hQ hM.
have one (F : unit -> rat) : \prod_i F i = F tt by apply: big_pred1; case.
rewrite /belief /total /mass !big_bool /given /rows /expected !one.
by vm_compute => /(_ isT).
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
