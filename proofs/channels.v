(** What is released, and what somebody believes who sees it.

    S is the secret, X what would be published, Y an output. A table is p s x: the probability of secret s with value x,
    or their count, or anything in proportion to it. A channel is Q y x = P(y|x); its rows are Q y. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Setting.
Variables (R : realFieldType) (S X Y : finType).
Implicit Types (p : S -> X -> R) (r w : X -> R) (Q : Y -> X -> R).

Definition weights p := forall s x, 0 <= p s x.
Definition likelihood r := forall x, 0 <= r x.
Definition mass p s := \sum_x p s x.
Definition total p := \sum_s mass p s.

(** p s x = P(s, x) *)
Definition distribution p := weights p /\ total p = 1.

(** Q y x = P(y|x) *)
Definition channel Q := (forall y x, 0 <= Q y x) /\ forall x, \sum_y Q y x = 1.

(** P(s): what somebody believes of the secret whose expectations are in proportion to p. *)
Definition belief p s := mass p s / total p.

(** What they expect once something is known that has probability r x for people with value x: an output (r = Q y), or
    that x lies in a cell (r = 1 in the cell, 0 outside). *)
Definition given p r : S -> X -> R := fun s x => p s x * r x.

(** P(y|s) and P(y), for the row r = Q y *)
Definition chance p r s := mass (given p r) s / mass p s.
Definition occurs p r := total (given p r) / total p.

(** P(s|y) / P(s), for the row r = Q y *)
Definition lift p r s := belief (given p r) s / belief p s.

End Setting.

Section Laws.
Variables (R : realFieldType) (S X : finType).
Implicit Types (p : S -> X -> R) (r w : X -> R).
Add Field Laws_field : (@field_laws R).

Lemma weights_given p r : weights p -> likelihood r -> weights (given p r).
Proof. by move=> hp hr s x; apply: mulr_ge0. Qed.

Lemma same_mass p q s : (forall x, p s x = q s x) -> mass p s = mass q s.
Proof. by move=> e; apply: eq_bigr => x _; exact: e. Qed.

Lemma same_total p q : (forall s x, p s x = q s x) -> total p = total q.
Proof. by move=> e; apply: eq_bigr => s _; exact: same_mass. Qed.

Lemma same_belief p q s : (forall s x, p s x = q s x) -> belief p s = belief q s.
Proof. by move=> e; rewrite /belief (same_total e) (same_mass (e s)). Qed.

(** To know two things is to know both at once. *)
Lemma given_given p w r s x : given (given p w) r s x = given p (fun x => w x * r x) s x.
Proof. by rewrite /given mulrA. Qed.

Lemma mass_ge0 p s : weights p -> 0 <= mass p s.
Proof. by move=> hp; apply: sumr_ge0. Qed.

Lemma total_ge0 p : weights p -> 0 <= total p.
Proof. by move=> hp; apply: sumr_ge0 => s _; exact: mass_ge0. Qed.

Lemma mass_le_total p s : weights p -> mass p s <= total p.
Proof. by move=> hp; rewrite /total (bigD1 s) //= ler_addl; apply: sumr_ge0 => t _; exact: mass_ge0. Qed.

(** A secret that nobody has, or an output that never occurs, is told of nobody. *)
Lemma mass_given_0 p r s : weights p -> mass p s = 0 -> mass (given p r) s = 0.
Proof.
move=> hp /(psumr_eq0P (fun x _ => hp s x)) h.
by rewrite /mass big1 // => x _; rewrite /given h // mul0r.
Qed.

Lemma total_0_mass p s : weights p -> total p = 0 -> mass p s = 0.
Proof. by move=> hp h; apply/le_anti; rewrite mass_ge0 // andbT -h mass_le_total. Qed.

Lemma mass_sum (K : finType) p (r : K -> X -> R) (a : K -> R) s :
  mass (given p (fun x => \sum_k a k * r k x)) s = \sum_k a k * mass (given p (r k)) s.
Proof.
under [RHS]eq_bigr => k _ do rewrite /mass mulr_sumr.
rewrite exchange_big /=; apply: eq_bigr => x _.
by rewrite /given mulr_sumr; apply: eq_bigr => k _; rewrite mulrCA.
Qed.

Lemma total_sum (K : finType) p (r : K -> X -> R) (a : K -> R) :
  total (given p (fun x => \sum_k a k * r k x)) = \sum_k a k * total (given p (r k)).
Proof.
rewrite /total; under eq_bigr => s _ do rewrite mass_sum.
by rewrite exchange_big /=; apply: eq_bigr => k _; rewrite mulr_sumr.
Qed.

Lemma mass_scale p r a s : mass (given p (fun x => a * r x)) s = a * mass (given p r) s.
Proof. by rewrite /mass mulr_sumr; apply: eq_bigr => x _; rewrite /given mulrCA. Qed.

Lemma total_scale p r a : total (given p (fun x => a * r x)) = a * total (given p r).
Proof. by rewrite /total mulr_sumr; apply: eq_bigr => s _; exact: mass_scale. Qed.

Lemma mass_constant p a s : mass (given p (fun=> a)) s = a * mass p s.
Proof. by rewrite /mass mulr_sumr; apply: eq_bigr => x _; rewrite /given mulrC. Qed.

Lemma total_constant p a : total (given p (fun=> a)) = a * total p.
Proof. by rewrite /total mulr_sumr; apply: eq_bigr => s _; exact: mass_constant. Qed.

(** Beliefs depend on what is seen only up to a factor. *)
Lemma belief_scale p r a s : a != 0 -> belief (given p (fun x => a * r x)) s = belief (given p r) s.
Proof.
move=> ha; rewrite /belief mass_scale total_scale invfM mulrACA mulfV ?mul1r //.
Qed.

(** P(s|y) / P(s) = P(y|s) / P(y) *)
Theorem lift_is_a_ratio_of_chances p r s :
  mass p s != 0 -> total p != 0 -> total (given p r) != 0 -> lift p r s = chance p r s / occurs p r.
Proof.
move=> /eqP hm /eqP ht /eqP hg; rewrite /lift /belief /chance /occurs.
plain R; field; by [].
Qed.

(** "lift at most u" without a division *)
Lemma lift_at_most p r s u : 0 < mass p s -> 0 < total p -> 0 < total (given p r) ->
  (lift p r s <= u) = (mass (given p r) s * total p <= u * (mass p s * total (given p r))).
Proof.
move=> hm ht hg; rewrite /lift /belief invf_div mulrA ler_pdivr_mulr // mulrAC ler_pdivr_mulr //.
by congr (_ <= _); rewrite mulrA.
Qed.

Lemma lift_at_least p r s l : 0 < mass p s -> 0 < total p -> 0 < total (given p r) ->
  (l <= lift p r s) = (l * (mass p s * total (given p r)) <= mass (given p r) s * total p).
Proof.
move=> hm ht hg; rewrite /lift /belief invf_div mulrA ler_pdivl_mulr // mulrAC ler_pdivl_mulr //.
by congr (_ <= _); rewrite mulrA.
Qed.

Lemma chance_at_most p r s t g : 0 < mass p s -> 0 < mass p t ->
  (chance p r s <= g * chance p r t) = (mass (given p r) s * mass p t <= g * (mass (given p r) t * mass p s)).
Proof.
move=> hs ht; rewrite /chance mulrA ler_pdivr_mulr // mulrAC ler_pdivl_mulr //.
by congr (_ <= _); rewrite -mulrA.
Qed.

End Laws.

(** ** A false variant, refuted: P(s, y) / P(y) is the belief itself, not the lift. *)
Theorem not_a_ratio_of_joint_chances :
  ~ (forall (S X : finType) (p : S -> X -> rat) (r : X -> rat) s, mass p s != 0 -> total p != 0 ->
       total (given p r) != 0 -> lift p r s = mass (given p r) s / total (given p r)).
Proof.
move=> /(_ _ _ (fun s x : bool => (s == x)%:R) (fun=> 1) true).
by rewrite /lift /belief /total /mass /given !big_bool; vm_compute => /(_ isT isT isT).
Qed.
