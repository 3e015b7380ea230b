(** The channel of a model: values are divided among groups and redrawn inside of them. docs/theory.md, "Models of wide tables".

    Group g holds the part m g x of the weight W x of value x. A row with x goes to group g with probability
    m g x / W x, and comes out as x' with probability m g x' / M g, M g the weight of the group. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic channels promises relations processing.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Groups.
Variables (R : realFieldType) (S X G : finType) (p : S -> X -> R) (m : G -> X -> R).
Implicit Types (lo up g : R) (k : G).

Definition weight x := \sum_s p s x.
Definition size k := \sum_x m k x.

(** What a group says: that x is in it. P(s|k) = belief (given p (inside k)) s *)
Definition inside k x := m k x / weight x.
Definition redrawn x' x := \sum_k m k x' / size k * inside k x.

Hypothesis p_ge0 : weights p.
Hypothesis weight_gt0 : forall x, 0 < weight x.
Hypothesis m_ge0 : forall k x, 0 <= m k x.
Hypothesis parts_add_up : forall x, \sum_k m k x = weight x.

Add Field Groups_field : (@field_laws R).

Let inside_ge0 k : likelihood (inside k). Proof. by move=> x; apply: divr_ge0 => //; exact: ltW. Qed.
Let share_ge0 k x : 0 <= m k x / size k. Proof. by rewrite divr_ge0 //; exact: sumr_ge0. Qed.
Let redrawn_ge0 x : likelihood (redrawn x). Proof. exact: likelihood_sum. Qed.

Lemma size_0 k x : size k = 0 -> m k x = 0.
Proof. by move/(psumr_eq0P (fun x _ => m_ge0 k x)); exact. Qed.

Lemma share_of_group k x : (\sum_x' m k x' / size k) * m k x = m k x.
Proof.
rewrite -mulr_suml -/(size k); have [e|ne] := eqVneq (size k) 0; first by rewrite size_0 ?mulr0.
by rewrite divff // mul1r.
Qed.

Theorem redrawn_channel : channel redrawn.
Proof.
split=> [x' x|x]; first exact: redrawn_ge0.
rewrite exchange_big /=; under eq_bigr => k _ do rewrite -mulr_suml /inside mulrA share_of_group.
by rewrite -mulr_suml parts_add_up divff // lt0r_neq0.
Qed.

(** Released rows have the model's distribution. *)
Theorem redrawn_keeps_distribution x' : \sum_x weight x * redrawn x' x = weight x'.
Proof.
under eq_bigr => x _ do rewrite mulr_sumr.
rewrite exchange_big /= -parts_add_up; apply: eq_bigr => k _.
under eq_bigr => x _ do rewrite mulrCA /inside [weight x * _]mulrC divfK ?lt0r_neq0 //.
rewrite -mulr_sumr -/(size k); have [e|ne] := eqVneq (size k) 0; first by rewrite (size_0 x' e) mul0r mul0r.
by rewrite divfK.
Qed.

(** A mixture of groups within the limits is within them. *)
Theorem groups_within_ALIP lo up :
  (forall k, lift_above lo p (inside k) /\ lift_below up p (inside k)) -> ALIP lo up p redrawn.
Proof.
move=> h x'; split.
  by apply/lift_aboveP => // s; apply: above_sum => // k; exact: (lift_aboveP _ p_ge0 (inside_ge0 k)).1 (h k).1 s.
by apply/lift_belowP => // s; apply: below_sum => // k; exact: (lift_belowP _ p_ge0 (inside_ge0 k)).1 (h k).2 s.
Qed.

Theorem groups_within_LDP g : (forall k, lifts_close g p (inside k)) -> LDP g p redrawn.
Proof.
move=> h x'; apply/lifts_closeP => // s t; apply: close_sum => // k.
exact: (lifts_closeP _ p_ge0 (inside_ge0 k)).1 (h k) s t.
Qed.

(** P(s|x') is the mixture of the P(s|k), each group by the weight that it has among rows released as x'. *)
Theorem belief_is_mixture_of_groups x' s :
  belief (given p (redrawn x')) s =
  \sum_k m k x' / size k * total (given p (inside k)) / total (given p (redrawn x')) * belief (given p (inside k)) s.
Proof.
rewrite /belief {1}/redrawn mass_sum mulr_suml; apply: eq_bigr => k _.
have [e|ne] := eqVneq (total (given p (inside k))) 0.
  by rewrite (total_0_mass s (weights_given p_ge0 (inside_ge0 k)) e) !(mulr0, mul0r).
move: (total (given p (redrawn x')))^-1 => i; have /eqP size_neq0 := ne.
by move: (m k x' / size k) => c; plain R; field.
Qed.

End Groups.

(** ** A false variant, refuted: every group must be within the limits, not only one. *)
Theorem not_one_group_within :
  ~ (forall (S X G : finType) (p : S -> X -> rat) (m : G -> X -> rat) (g : rat),
       weights p -> (forall x, 0 < weight p x) -> (forall k x, 0 <= m k x) ->
       (forall x, \sum_k m k x = weight p x) -> 1 <= g ->
       (exists k, lift_above g^-1 p (inside p m k) /\ lift_below g p (inside p m k)) -> LIP g p (redrawn p m)).
Proof.
move=> claim; pose p (s : bool) (x : bool * bool) : rat := if s == x.1 then 1 / 4%:R else 0.
pose m (k : bool) (x : bool * bool) : rat := if k == ((x.1 || x.2)) then 1 / 4%:R else 0.
have p_ge0 : weights p by case=> [] [[] []].
have m_ge0 k x : 0 <= m k x by case: k x => [] [[] []].
have w x : weight p x = 1 / 4%:R by rewrite /weight big_bool; case: x => [] [] [] //.
have w_gt0 x : 0 < weight p x by rewrite w.
have parts x : \sum_k m k x = weight p x by rewrite w big_bool; case: x => [] [] [].
have inside_ge0 k : likelihood (inside p m k) by move=> x; apply: divr_ge0 => //; exact: ltW.
have one : exists k, lift_above 2%:R^-1 p (inside p m k) /\ lift_below 2%:R p (inside p m k).
  by exists true; split; [apply/lift_aboveP | apply/lift_belowP] => // s;
    rewrite /above /below /total /mass !big_bool !sum_two_bits /given /inside !w; case: s; vm_compute.
have [lo _] := claim _ _ _ p m 2%:R p_ge0 w_gt0 m_ge0 parts isT one (false, false).
have ge0 : likelihood (redrawn p m (false, false)).
  by move=> x; apply: sumr_ge0 => k _; apply: mulr_ge0 => //; apply: divr_ge0 => //; exact: sumr_ge0.
move/(lift_aboveP _ p_ge0 ge0)/(_ true): lo.
rewrite /above /total /mass !big_bool !sum_two_bits /given /redrawn !big_bool /inside !w /size !sum_two_bits.
by vm_compute.
Qed.
