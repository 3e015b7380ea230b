(** How promises relate. docs/theory.md, "How promises relate". *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic channels promises.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Relations.
Variables (R : realFieldType) (S X Y : finType) (p : S -> X -> R) (Q : Y -> X -> R) (g : R).
Hypothesis p_ge0 : weights p.
Hypothesis Q_channel : channel Q.
Hypothesis g_ge1 : 1 <= g.

Add Field Relations_field : (@field_laws R).

Let Q_ge0 y : likelihood (Q y). Proof. by move=> x; case: Q_channel. Qed.
Let pQ_ge0 y : weights (given p (Q y)). Proof. exact: weights_given. Qed.
Let g_gt0 : 0 < g. Proof. exact: lt_le_trans ltr01 g_ge1. Qed.

Theorem LDP_implies_LIP : LDP g p Q -> LIP g p Q.
Proof.
move=> ldp y; have near := (lifts_closeP g p_ge0 (Q_ge0 y)).1 (ldp y); split.
- apply/lift_aboveP => // s; rewrite /above ler_pdivr_mull // /total !mulr_sumr.
  by apply: ler_sum => t _; rewrite mulrC; exact: near.
- apply/lift_belowP => // s; rewrite /below /total !mulr_sumr.
  by apply: ler_sum => t _; have := near s t; rewrite /close [mass p s * _]mulrC.
Qed.

Theorem LIP_implies_LDP_of_twice : LIP g p Q -> LDP (g * g) p Q.
Proof.
move=> lip y; have [above_y below_y] := lip y.
have lo := (lift_aboveP _ p_ge0 (Q_ge0 y)).1 above_y; have up := (lift_belowP _ p_ge0 (Q_ge0 y)).1 below_y.
apply/lifts_closeP => // s t; rewrite /close.
have [e|T_neq0] := eqVneq (total p * total (given p (Q y))) 0.
  move/eqP: e; rewrite mulf_eq0 => /orP[] /eqP e.
    by rewrite !(total_0_mass _ p_ge0 e) !mulr0.
  by rewrite !(total_0_mass _ (pQ_ge0 y) e) !mul0r mulr0.
have T_gt0 : 0 < total p * total (given p (Q y)) by rewrite lt_def T_neq0 mulr_ge0 ?total_ge0.
rewrite -(ler_pmul2r T_gt0).
have up_s := up s; have := lo t; rewrite /above ler_pdivr_mull // => lo_t.
have lhs_ge0 : 0 <= mass (given p (Q y)) s * total p by rewrite mulr_ge0 ?mass_ge0 ?total_ge0.
have rhs_ge0 : 0 <= mass p t * total (given p (Q y)) by rewrite mulr_ge0 ?mass_ge0 ?total_ge0.
have := ler_pmul lhs_ge0 rhs_ge0 up_s lo_t.
by congr (_ <= _); plain R; ring.
Qed.

Theorem LIP_implies_PML : LIP g p Q -> PML g p Q.
Proof. by move=> lip y; case: (lip y). Qed.

End Relations.

(** Who knows nothing knows the empty set of attributes. *)
Section SideChannels.
Variables (R : realFieldType) (S X Y I : finType) (A : eqType) (attr : I -> X -> A) (known : pred {set I}).
Variables (p : S -> X -> R) (Q : Y -> X -> R) (g : R).
Hypothesis p_ge0 : weights p.
Hypothesis nothing_is_known : known set0.

Lemma knowing_nothing x0 s x : knowing attr p set0 x0 s x = p s x.
Proof.
by rewrite /knowing /given agrees_on_none mulr1.
Qed.

Lemma same_given q r s x : (forall s x, q s x = p s x) -> given q r s x = given p r s x.
Proof. by move=> e; rewrite /given e. Qed.

Theorem SRLIP_implies_LIP : SRLIP attr known g p Q -> LIP g p Q.
Proof.
move=> srlip y; have [x0 _|none] := pickP (fun _ : X => true); last first.
  split=> s; rewrite belief_gt0 // /mass big1 ?ltxx // => x; by have := none x.
have e := knowing_nothing x0; have eQ s x := same_given (Q y) s x e.
have [lo up] := srlip set0 x0 nothing_is_known y.
split=> s; move: (lo s) (up s); rewrite /lift !(same_belief _ e) !(same_belief _ eQ) (same_total eQ).
  by move=> + _.
by move=> _.
Qed.

Theorem SRLDP_implies_LDP : SRLDP attr known g p Q -> LDP g p Q.
Proof.
move=> srldp y; have [x0 _|none] := pickP (fun _ : X => true); last first.
  move=> s t; rewrite belief_gt0 // /mass big1 ?ltxx // => x; by have := none x.
have e := knowing_nothing x0; have eQ s x := same_given (Q y) s x e.
move=> s t; move: (srldp set0 x0 nothing_is_known y s t).
by rewrite /chance !(same_belief _ e) !(same_mass (eQ _)) !(same_mass (e _)).
Qed.

End SideChannels.

(** Several secrets: a promise about the secret is one about everything that follows from it. *)
Section Coarser.
Variables (R : realFieldType) (S T X Y : finType) (coarse : S -> T) (p : S -> X -> R) (Q : Y -> X -> R).
Hypotheses (p_ge0 : weights p) (Q_channel : channel Q).

Let Q_ge0 y : likelihood (Q y). Proof. by move=> x; case: Q_channel. Qed.
Let about_ge0 : weights (about coarse p). Proof. by move=> t x; exact: sumr_ge0. Qed.

Lemma mass_about (q : S -> X -> R) t : mass (about coarse q) t = \sum_(s | coarse s == t) mass q s.
Proof. by rewrite /mass /about exchange_big. Qed.

Lemma total_about (q : S -> X -> R) : total (about coarse q) = total q.
Proof.
rewrite /total [RHS](partition_big coarse predT) //=; apply: eq_bigr => t _; exact: mass_about.
Qed.

Lemma given_about r t x : given (about coarse p) r t x = about coarse (given p r) t x.
Proof. by rewrite /given /about mulr_suml. Qed.

Theorem ALIP_about_coarser lo up : ALIP lo up p Q -> ALIP lo up (about coarse p) Q.
Proof.
move=> h y; split; [apply/lift_aboveP => // t | apply/lift_belowP => // t].
  rewrite /above (same_total (given_about _)) (same_mass (given_about _ t)) !total_about !mass_about.
  rewrite !mulr_suml mulr_sumr; apply: ler_sum => s _; exact: (lift_aboveP _ p_ge0 (Q_ge0 y)).1 (h y).1 s.
rewrite /below (same_total (given_about _)) (same_mass (given_about _ t)) !total_about !mass_about.
rewrite !mulr_suml mulr_sumr; apply: ler_sum => s _; exact: (lift_belowP _ p_ge0 (Q_ge0 y)).1 (h y).2 s.
Qed.

End Coarser.

(** ** False variants, refuted *)

(** Somebody shows a bit truly with probability 3/4. All lifts are 1/2 or 3/2, so the channel is LIP for g = 2; but
    P(y|s) = 3/4 is 3 times P(y|t) = 1/4. *)
Definition fair_bit (s x : bool) : rat := if s == x then 1 / 2%:R else 0.
Definition three_quarters (y x : bool) : rat := if y == x then 3%:R / 4%:R else 1 / 4%:R.

Lemma fair_bit_law : distribution fair_bit.
Proof. by split=> [[] []|] //; rewrite /total /mass !big_bool; vm_compute. Qed.

Lemma three_quarters_channel : channel three_quarters.
Proof. by split=> [[] []|[]] //; rewrite big_bool; vm_compute. Qed.

Theorem not_LIP_implies_LDP_without_twice :
  ~ (forall (S X Y : finType) (p : S -> X -> rat) (Q : Y -> X -> rat) g,
       distribution p -> channel Q -> 1 <= g -> LIP g p Q -> LDP g p Q).
Proof.
move=> claim; have p_ge0 := fair_bit_law.1.
have Q_ge0 y : likelihood (three_quarters y) by move=> x; case: three_quarters_channel.
have lip : LIP 2%:R fair_bit three_quarters.
  by move=> y; split; [apply/lift_aboveP | apply/lift_belowP] => // s;
    rewrite /above /below /total /mass !big_bool; case: y s => [] []; vm_compute.
have := claim _ _ _ _ _ _ fair_bit_law three_quarters_channel (ler1n _ 2) lip true.
move/(lifts_closeP _ p_ge0 (Q_ge0 true))/(_ true false).
by rewrite /close /mass !big_bool; vm_compute.
Qed.

(** The bit itself is shown: no belief rises by more than 2, one falls to 0. *)
Definition shown (y x : bool) : rat := (y == x)%:R.

Theorem not_PML_implies_LIP :
  ~ (forall (S X Y : finType) (p : S -> X -> rat) (Q : Y -> X -> rat) g,
       distribution p -> channel Q -> 1 <= g -> PML g p Q -> LIP g p Q).
Proof.
move=> claim; have p_ge0 := fair_bit_law.1.
have hQ : channel shown by split=> [[] []|[]] //; rewrite big_bool.
have Q_ge0 y : likelihood (shown y) by move=> x; case: hQ.
have pml : PML 2%:R fair_bit shown.
  by move=> y; apply/lift_belowP => // s; rewrite /below /total /mass !big_bool; case: y s => [] []; vm_compute.
have [lo _] := claim _ _ _ _ _ _ fair_bit_law hQ (ler1n _ 2) pml true.
move/(lift_aboveP _ p_ge0 (Q_ge0 true)): lo => /(_ false).
by rewrite /above /total /mass !big_bool; vm_compute.
Qed.

(** Two fair bits, the secret is whether they differ. The first alone tells nothing, but everything to who knows the
    second. *)
Lemma sum_two_bits (F : bool * bool -> rat) :
  \sum_x F x = F (true, true) + F (true, false) + (F (false, true) + F (false, false)).
Proof.
rewrite (eq_bigr (fun x => F (x.1, x.2))) => [|[] //].
by rewrite -(pair_bigA _ (fun a b => F (a, b))) /= !big_bool.
Qed.

Definition bit (j : bool) (x : bool * bool) := if j then x.1 else x.2.
Definition differ (s : bool) (x : bool * bool) : rat := if s == (x.1 != x.2) then 1 / 4%:R else 0.
Definition first_bit (y : bool) (x : bool * bool) : rat := (y == x.1)%:R.

Lemma differ_law : distribution differ.
Proof. by split=> [[] [[] []]|] //; rewrite /total /mass big_bool !sum_two_bits; vm_compute. Qed.

Lemma first_bit_channel : channel first_bit.
Proof. by split=> [[] [[] []]|[[] []]] //; rewrite big_bool. Qed.

Theorem not_LIP_implies_SRLIP :
  ~ (forall (S X Y I : finType) (attr : I -> X -> bool) (p : S -> X -> rat) (Q : Y -> X -> rat) g,
       distribution p -> channel Q -> 1 <= g -> LIP g p Q -> SRLIP attr predT g p Q).
Proof.
move=> claim; have p_ge0 := differ_law.1.
have Q_ge0 y : likelihood (first_bit y) by move=> x; case: first_bit_channel.
have lip : LIP 1 differ first_bit.
  by move=> y; split; [apply/lift_aboveP | apply/lift_belowP] => // s;
    rewrite /above /below /total /mass !big_bool !sum_two_bits; case: y s => [] []; vm_compute.
have srlip := claim _ _ _ _ bit _ _ _ differ_law first_bit_channel (lexx 1) lip.
have [_ up] := srlip [set false] (true, true) isT true.
have cell_ge0 : weights (knowing bit differ [set false] (true, true)).
  by apply: weights_given => // x; rewrite ler0n.
move/(lift_belowP _ cell_ge0 (Q_ge0 true))/(_ false): up.
rewrite /below /total /mass !big_bool !sum_two_bits /knowing /given !agrees_on_one.
by vm_compute.
Qed.

(** A promise about the coarser secret says nothing of the finer one. *)
Theorem not_ALIP_about_finer :
  ~ (forall (S T X Y : finType) (coarse : S -> T) (p : S -> X -> rat) (Q : Y -> X -> rat) lo up,
       weights p -> channel Q -> ALIP lo up (about coarse p) Q -> ALIP lo up p Q).
Proof.
move=> claim; have p_ge0 := fair_bit_law.1.
have hQ : channel shown by split=> [[] []|[]] //; rewrite big_bool.
have Q_ge0 y : likelihood (shown y) by move=> x; case: hQ.
pose nothing (_ : bool) := true.
have all t x : about nothing fair_bit t x = if t then 1 / 2%:R else 0.
  by rewrite /about big_mkcond big_bool; case: t x => [] []; vm_compute.
have a_ge0 : weights (about nothing fair_bit) by case=> x; rewrite all.
have coarse : ALIP 1 1 (about nothing fair_bit) shown.
  move=> y; split; [apply/lift_aboveP | apply/lift_belowP] => // t;
    by rewrite /above /below /total /mass !big_bool /given !all; case: y t => [] []; vm_compute.
have [_ up] := claim _ _ _ _ _ _ _ _ _ p_ge0 hQ coarse true.
move/(lift_belowP _ p_ge0 (Q_ge0 true))/(_ true): up.
by rewrite /below /total /mass !big_bool; vm_compute.
Qed.
