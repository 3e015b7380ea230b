(** The promises, as docs/promises.md and docs/theory.md state them, and without divisions.

    g stands for e^epsilon, so that a promise of epsilon is one of g, and 2 epsilon is g * g. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic channels.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Promises.
Variables (R : realFieldType) (S X Y : finType).
Implicit Types (p : S -> X -> R) (r : X -> R) (Q : Y -> X -> R) (lo up g : R).

(** lo <= P(s|y) / P(s) <= up, for every s with P(s) > 0 and the output of the row r, if it occurs *)
Definition lift_below up p r := forall s, 0 < belief p s -> 0 < total (given p r) -> lift p r s <= up.
Definition lift_above lo p r := forall s, 0 < belief p s -> 0 < total (given p r) -> lo <= lift p r s.

(** P(y|s) <= g P(y|t) for all s, t *)
Definition lifts_close g p r :=
  forall s t, 0 < belief p s -> 0 < belief p t -> chance p r s <= g * chance p r t.

(** (lo, up)-ALIP, with lo = e^-epsilon_l and up = e^epsilon_u *)
Definition ALIP lo up p Q := forall y, lift_above lo p (Q y) /\ lift_below up p (Q y).
Definition LIP g p Q := ALIP g^-1 g p Q.
Definition PML g p Q := forall y, lift_below g p (Q y).
Definition LDP g p Q := forall y, lifts_close g p (Q y).
Definition perfect p Q := ALIP 1 1 p Q.

(** Limits of its own for every value: lo s <= P(s|y) / P(s) <= up s *)
Definition each_within_limits (lo up : S -> R) p Q := forall y s, 0 < belief p s -> 0 < total (given p (Q y)) ->
  lo s <= lift p (Q y) s <= up s.

(** P(s|y) <= b *)
Definition belief_at_most b p Q s := forall y, 0 < total (given p (Q y)) -> belief (given p (Q y)) s <= b.

(** Side channels: X has attributes j, whose value is attr j x; somebody knows those in the set J, as x0 has them. *)
Section SideChannels.
Variables (I : finType) (A : eqType) (attr : I -> X -> A).
Definition agrees (J : {set I}) x0 x := [forall j in J, attr j x == attr j x0].
Definition knowing p (J : {set I}) x0 := given p (fun x => (agrees J x0 x)%:R).

(** A promise given X^J = x^J, for every set J that attackers may know and every x^J *)
Definition for_all_who_know (known : pred {set I}) (promise : (S -> X -> R) -> (Y -> X -> R) -> Prop) p Q :=
  forall J x0, known J -> promise (knowing p J x0) Q.

Lemma agrees_on_none x0 x : agrees set0 x0 x.
Proof. by apply/forallP => j; rewrite inE. Qed.

Lemma agrees_on_one j x0 x : agrees [set j] x0 x = (attr j x == attr j x0).
Proof.
apply/forallP/idP => [/(_ j)|h k]; first by rewrite in_set1 eqxx.
by apply/implyP; rewrite in_set1 => /eqP ->.
Qed.

Definition SRLIP known g p Q := for_all_who_know known (LIP g) p Q.
Definition SRLDP known g p Q := for_all_who_know known (LDP g) p Q.
End SideChannels.

(** Several secrets: the events of a promise are the values of a coarser secret, coarse s. *)
Definition about (T : finType) (coarse : S -> T) p : T -> X -> R := fun t x => \sum_(s | coarse s == t) p s x.

End Promises.

(** ** The same in sums and products, linear and homogeneous in the row *)
Section Rows.
Variables (R : realFieldType) (S X : finType).
Implicit Types (p : S -> X -> R) (r : X -> R) (lo up g b : R).

Definition below up p r s := mass (given p r) s * total p <= up * (mass p s * total (given p r)).
Definition above lo p r s := lo * (mass p s * total (given p r)) <= mass (given p r) s * total p.
Definition close g p r s t := mass (given p r) s * mass p t <= g * (mass (given p r) t * mass p s).

Lemma belief_gt0 p s : weights p -> (0 < belief p s) = (0 < mass p s).
Proof.
move=> hp; have [h|h] := eqVneq (total p) 0.
  by rewrite /belief (total_0_mass s hp h) mul0r.
by rewrite /belief pmulr_lgt0 // invr_gt0 lt_def h total_ge0.
Qed.

Lemma mass_total_gt0 p s : weights p -> 0 < mass p s -> 0 < total p.
Proof. by move=> hp h; apply: lt_le_trans h (mass_le_total s hp). Qed.

Lemma mass_gt0 p s : weights p -> mass p s != 0 -> 0 < mass p s.
Proof. by move=> hp h; rewrite lt_def h mass_ge0. Qed.

Lemma total_gt0 p : weights p -> total p != 0 -> 0 < total p.
Proof. by move=> hp h; rewrite lt_def h total_ge0. Qed.

Lemma nothing_seen p r s : weights p -> likelihood r -> mass p s = 0 \/ total (given p r) = 0 ->
  mass (given p r) s = 0 /\ mass p s * total (given p r) = 0.
Proof.
move=> hp hr [e|e]; first by rewrite (mass_given_0 r hp e) e mul0r.
by rewrite (total_0_mass s (weights_given hp hr) e) e mulr0.
Qed.

Lemma lift_belowP up p r : weights p -> likelihood r -> lift_below up p r <-> forall s, below up p r s.
Proof.
move=> hp hr; have hpr := weights_given hp hr; split=> h s; last first.
  by rewrite belief_gt0 // => hs ht; rewrite lift_at_most ?(mass_total_gt0 hp hs) //; exact: h.
have [e|hs] := eqVneq (mass p s) 0.
  by have [e1 e2] := nothing_seen hp hr (or_introl e); rewrite /below e1 e2 mul0r mulr0.
have [e|ht] := eqVneq (total (given p r)) 0.
  by have [e1 e2] := nothing_seen hp hr (or_intror (mass p s = 0) e); rewrite /below e1 e2 mul0r mulr0.
have m_gt0 := mass_gt0 hp hs; have t_gt0 := total_gt0 hpr ht.
by rewrite /below -lift_at_most ?(mass_total_gt0 hp m_gt0) //; apply: h; rewrite ?belief_gt0.
Qed.

Lemma lift_aboveP lo p r : weights p -> likelihood r -> lift_above lo p r <-> forall s, above lo p r s.
Proof.
move=> hp hr; have hpr := weights_given hp hr; split=> h s; last first.
  by rewrite belief_gt0 // => hs ht; rewrite lift_at_least ?(mass_total_gt0 hp hs) //; exact: h.
have [e|hs] := eqVneq (mass p s) 0.
  by have [e1 e2] := nothing_seen hp hr (or_introl e); rewrite /above e1 e2 mul0r mulr0.
have [e|ht] := eqVneq (total (given p r)) 0.
  by have [e1 e2] := nothing_seen hp hr (or_intror (mass p s = 0) e); rewrite /above e1 e2 mul0r mulr0.
have m_gt0 := mass_gt0 hp hs; have t_gt0 := total_gt0 hpr ht.
by rewrite /above -lift_at_least ?(mass_total_gt0 hp m_gt0) //; apply: h; rewrite ?belief_gt0.
Qed.

Lemma lifts_closeP g p r : weights p -> likelihood r -> lifts_close g p r <-> forall s t, close g p r s t.
Proof.
move=> hp hr; split=> h s t; last first.
  by rewrite !belief_gt0 // => hs ht; rewrite chance_at_most //; exact: h.
have [e|hs] := eqVneq (mass p s) 0; first by rewrite /close (mass_given_0 r hp e) e mulr0 mulr0 mul0r.
have [e|ht] := eqVneq (mass p t) 0; first by rewrite /close (mass_given_0 r hp e) e mul0r mulr0 mulr0.
have s_gt0 := mass_gt0 hp hs; have t_gt0 := mass_gt0 hp ht.
by rewrite /close -chance_at_most //; apply: h; rewrite belief_gt0.
Qed.

Lemma above_0 p r s : weights p -> likelihood r -> above 0 p r s.
Proof. by move=> hp hr; rewrite /above mul0r mulr_ge0 ?mass_ge0 ?total_ge0 //; exact: weights_given. Qed.

End Rows.
