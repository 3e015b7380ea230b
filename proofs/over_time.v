(** Releases over time. docs/theory.md, "Follow-ups" and "The same draw again". *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic channels promises relations.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** What is seen one after the other: factors multiply. *)
Section Steps.
Variables (R : realFieldType) (S X : finType).
Implicit Types (p : S -> X -> R) (r : X -> R) (g : R).

(** LIP for one row *)
Definition within g p r := lift_above g^-1 p r /\ lift_below g p r.

Add Field Steps_field : (@field_laws R).

Lemma within_step g1 g2 p r1 r2 : weights p -> likelihood r1 -> likelihood r2 -> 0 < g1 -> 0 < g2 ->
  within g1 p r1 -> within g2 (given p r1) r2 -> within (g1 * g2) p (fun x => r1 x * r2 x).
Proof.
move=> p_ge0 r1_ge0 r2_ge0 g1_gt0 g2_gt0 [l1 u1] [l2 u2].
have after_ge0 := weights_given p_ge0 r1_ge0.
have e := same_total (given_given p r1 r2).
have pos : 0 < total (given p (fun x => r1 x * r2 x)) -> 0 < total (given p r1).
  rewrite -e => h; rewrite lt_def total_ge0 // andbT; apply/eqP => e0; move: h.
  rewrite /total big1 ?ltxx // => t _; apply: mass_given_0 => //; exact: total_0_mass.
have step s : 0 < belief p s -> 0 < total (given p (fun x => r1 x * r2 x)) ->
    lift p (fun x => r1 x * r2 x) s = lift p r1 s * lift (given p r1) r2 s /\ 0 < belief (given p r1) s.
  move=> hs ht; have t_gt0 := pos ht.
  have b_gt0 : 0 < belief (given p r1) s.
    have := l1 s hs t_gt0; rewrite /lift => le.
    have : 0 < belief (given p r1) s / belief p s by apply: lt_le_trans le; rewrite invr_gt0.
    by rewrite pmulr_lgt0 // invr_gt0.
  split=> //; rewrite /lift -(same_belief s (given_given p r1 r2)).
  have /eqP b_neq0 := lt0r_neq0 hs; have /eqP b1_neq0 := lt0r_neq0 b_gt0.
  by plain R; field.
have lift_ge0 (q : S -> X -> R) r s : weights q -> likelihood r -> 0 <= lift q r s.
  by move=> hq hr; rewrite !divr_ge0 ?mass_ge0 ?total_ge0 //; exact: weights_given.
split=> s hs ht; have [-> b_gt0] := step s hs ht; have t_gt0 := pos ht; rewrite -e in ht.
  by rewrite invfM; apply: ler_pmul; [rewrite invr_ge0 ltW | rewrite invr_ge0 ltW | exact: l1 | exact: l2].
by apply: ler_pmul; [exact: lift_ge0 | exact: lift_ge0 | exact: u1 | exact: u2].
Qed.

Lemma same_within g p q r r' : (forall s x, p s x = q s x) -> (forall s x, given p r s x = given q r' s x) ->
  within g p r -> within g q r'.
Proof.
move=> e er [lo up]; split=> s; rewrite /lift -(same_belief s e) -(same_total er) -(same_belief s er).
  exact: lo.
exact: up.
Qed.

Lemma within_scale g p r c : 0 <= c -> within g p r -> within g p (fun x => c * r x).
Proof.
move=> c_ge0 [lo up]; have [->|c_neq0] := eqVneq c 0.
  by split=> s _; rewrite total_scale mul0r ltxx.
have c_gt0 : 0 < c by rewrite lt_def c_neq0.
split=> s hs; rewrite total_scale pmulr_rgt0 // => ht; rewrite /lift belief_scale //; [exact: lo | exact: up].
Qed.

Lemma within_weaker g g' p r : 0 < g -> g <= g' -> within g p r -> within g' p r.
Proof.
move=> g_gt0 le [lo up]; have g'_gt0 : 0 < g' by exact: lt_le_trans g_gt0 le.
split=> s hs ht; last exact: le_trans (up s hs ht) le.
by apply: le_trans (lo s hs ht); rewrite lef_pinv.
Qed.

End Steps.

(** ** Follow-ups: y2 is drawn from x and what was released before, y1. *)
Section FollowUp.
Variables (R : realFieldType) (S X Y1 Y2 : finType).
Variables (p : S -> X -> R) (Q1 : Y1 -> X -> R) (Q2 : Y1 -> Y2 -> X -> R).
Implicit Types (lo up g : R).

(** P(y1, y2 | x): both releases together are one channel. *)
Definition together (y : Y1 * Y2) x := Q1 y.1 x * Q2 y.1 y.2 x.

(** What somebody expects who has seen y1 *)
Definition after y1 := given p (Q1 y1).

Hypothesis p_ge0 : weights p.
Hypothesis Q1_channel : channel Q1.
Hypothesis Q2_channel : forall y1, channel (Q2 y1).

Let Q1_ge0 y : likelihood (Q1 y). Proof. by move=> x; case: Q1_channel. Qed.
Let Q2_ge0 y1 y : likelihood (Q2 y1 y). Proof. by move=> x; case: (Q2_channel y1). Qed.

Theorem together_is_channel : channel together.
Proof.
split=> [y x|x]; first by rewrite mulr_ge0; [| exact: Q1_ge0 | exact: Q2_ge0].
rewrite -(pair_bigA _ (fun y1 y2 => Q1 y1 x * Q2 y1 y2 x)) /= -[RHS](Q1_channel.2 x).
by apply: eq_bigr => y1 _; rewrite -mulr_sumr (Q2_channel y1).2 mulr1.
Qed.

Let after_together y s x : given (after y.1) (Q2 y.1 y.2) s x = given p (together y) s x.
Proof. exact: given_given. Qed.

(** P(s | y1, y2) is what somebody comes to believe who expected P(s, x | y1) and sees y2. *)
Theorem belief_after_both y1 y2 s :
  belief (given (after y1) (Q2 y1 y2)) s = belief (given p (together (y1, y2))) s.
Proof. exact: same_belief (after_together (y1, y2)). Qed.

(** The promise for the pair, of which each step is a promise of the usual kind: for what is expected after y1, with
    limits relative to P(s) and not to P(s|y1). *)
Definition follow_up_promise lo up := forall y1 y2 s, 0 < belief p s ->
  0 < total (given (after y1) (Q2 y1 y2)) -> lo <= belief (given (after y1) (Q2 y1 y2)) s / belief p s <= up.

Theorem follow_up_is_promise_for_the_pair lo up : follow_up_promise lo up <-> ALIP lo up p together.
Proof.
split=> [h [y1 y2]|h y1 y2 s hs]; last first.
  rewrite (same_total (after_together (y1, y2))) belief_after_both => ht.
  by have [l u] := h (y1, y2); apply/andP; split; [exact: l | exact: u].
have e := same_total (after_together (y1, y2)).
by split=> s hs; rewrite -e => ht; rewrite /lift -belief_after_both; case/andP: (h y1 y2 s hs ht).
Qed.

(** With limits relative to P(s|y1) instead, levels add up: factors multiply. *)
Theorem steps_multiply g1 g2 : 0 < g1 -> 0 < g2 ->
  LIP g1 p Q1 -> (forall y1, LIP g2 (after y1) (Q2 y1)) -> LIP (g1 * g2) p together.
Proof.
by move=> g1_gt0 g2_gt0 lip1 lip2 [y1 y2]; apply: within_step; [| | | | | exact: lip1 | exact: lip2].
Qed.

End FollowUp.

(** ** The same draw again: with a key, the same person with the same x has the same y. *)
Section SameDraw.
Variables (R : realFieldType) (S X Y Z : finType).
Variables (p : S -> X -> R) (Q : Y -> X -> R) (again : Y -> Z).

(** What is released the second time is a function of what was released the first time. *)
Definition with_again (yz : Y * Z) x := Q yz.1 x * (again yz.1 == yz.2)%:R.

(** P(s | y, f(y)) = P(s | y) *)
Theorem the_same_draw_tells_nothing y s :
  belief (given p (with_again (y, again y))) s = belief (given p (Q y)) s.
Proof. by apply: same_belief => t x; rewrite /given /with_again eqxx mulr1. Qed.

End SameDraw.

(** ** Draws by a random function: the word for a message is drawn once, and the same for ever. *)
Section Keyed.
Variables (R : realFieldType) (X Y Word Message : finType) (draw : X -> Word -> Y) (input : Message -> X).

(** P(y|x): the share of words that lead to y *)
Definition by_words y x : R := #|[set w | draw x w == y]|%:R / #|Word|%:R.

(** The share of functions that give the outputs ys to all messages (person, protocol, x) *)
Definition by_functions (ys : Message -> Y) : R :=
  #|[set f : {ffun Message -> Word} | [forall m, draw (input m) (f m) == ys m]]|%:R / #|{ffun Message -> Word}|%:R.

(** Different messages are drawn independently, each exactly by the channel. *)
Theorem keyed_draws_are_independent ys : by_functions ys = \prod_m by_words (ys m) (input m).
Proof.
rewrite /by_functions prodf_div prodr_const -natrX; congr (_ / _%:R); last by rewrite card_ffun.
rewrite -natr_prod; congr _%:R.
rewrite -[RHS](_ : #|family (fun m => [pred w | draw (input m) w == ys m])| = _); last first.
  by rewrite card_family foldrE big_map big_enum /=; apply: eq_bigr => m _; rewrite cardsE.
rewrite cardsE; apply: eq_card => f; rewrite !inE; apply/forallP/familyP => h m; exact: h.
Qed.

End Keyed.

(** ** False variants, refuted *)


(** Fresh draws from the same channel do tell something new. *)
Theorem not_a_fresh_draw_tells_nothing :
  ~ (forall (S X Y : finType) (p : S -> X -> rat) (Q : Y -> X -> rat) y s, distribution p -> channel Q ->
       0 < total (given p (fun x => Q y x * Q y x)) ->
       belief (given p (fun x => Q y x * Q y x)) s = belief (given p (Q y)) s).
Proof.
move=> /(_ _ _ _ fair_bit three_quarters true true fair_bit_law three_quarters_channel).
by rewrite /belief /total /mass !big_bool; vm_compute => /(_ isT).
Qed.

(** Two releases, each of which keeps a promise by itself, need not keep it together: without a regard to y1. *)
Theorem not_each_release_by_itself :
  ~ (forall (S X Y : finType) (p : S -> X -> rat) (Q1 Q2 : Y -> X -> rat) g, distribution p -> channel Q1 ->
       channel Q2 -> 1 <= g -> LIP g p Q1 -> LIP g p Q2 -> LIP (g * g) p (together Q1 (fun=> Q2))).
Proof.
move=> claim; have p_ge0 := differ_law.1.
pose second_bit (y : bool) (x : bool * bool) : rat := (y == x.2)%:R.
have second_channel : channel second_bit by split=> [[] [[] []]|[[] []]] //; rewrite big_bool.
have ge1 y : likelihood (first_bit y) by move=> x; case: first_bit_channel.
have ge2 y : likelihood (second_bit y) by move=> x; case: second_channel.
have lip1 : LIP 1 differ first_bit.
  by move=> y; split; [apply/lift_aboveP | apply/lift_belowP] => // s;
    rewrite /above /below /total /mass !big_bool !sum_two_bits; case: y s => [] []; vm_compute.
have lip2 : LIP 1 differ second_bit.
  by move=> y; split; [apply/lift_aboveP | apply/lift_belowP] => // s;
    rewrite /above /below /total /mass !big_bool !sum_two_bits; case: y s => [] []; vm_compute.
have [_] := claim _ _ _ _ _ _ _ differ_law first_bit_channel second_channel (lexx 1) lip1 lip2 (true, true).
have ge0 : likelihood (together first_bit (fun=> second_bit) (true, true)).
  by move=> x; rewrite mulr_ge0 //; [exact: ge1 | exact: ge2].
move/(lift_belowP _ p_ge0 ge0)/(_ false).
by rewrite /below /total /mass !big_bool !sum_two_bits; vm_compute.
Qed.
