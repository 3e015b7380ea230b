(** What everything that is published tells. docs/theory.md, "Everything published"; "Models of wide tables".

    A person has the record (s, x); all other records are known to the attacker, and so fixed. The file f is published
    with probability P f s x, the person's row y is drawn by the file's channel Q f, and the rows of the others, o, have
    probability O f o: they are drawn from f and the others' records. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic channels promises relations processing.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** Two weights whose quotients differ by at most the factor h give beliefs that differ by at most h. *)
Section Tilted.
Variables (R : realFieldType) (S X : finType) (a b : S -> X -> R) (h : R).
Hypothesis near : forall s x t z, b s x * a t z <= h * (a s x * b t z).

Lemma tilted_up s : mass b s * total a <= h * (mass a s * total b).
Proof.
rewrite mulrA [h * mass a s]mulr_sumr !mulr_suml; apply: ler_sum => x _.
rewrite /total /mass !mulr_sumr; apply: ler_sum => t _.
by rewrite !mulr_sumr; apply: ler_sum => z _; rewrite -mulrA.
Qed.

Lemma tilted_down s : mass a s * total b <= h * (mass b s * total a).
Proof.
rewrite mulrA [h * mass b s]mulr_sumr !mulr_suml; apply: ler_sum => x _.
rewrite /total /mass !mulr_sumr; apply: ler_sum => t _.
rewrite !mulr_sumr; apply: ler_sum => z _; rewrite -mulrA [a s x * _]mulrC [b s x * _]mulrC.
by rewrite mulrC [X in X <= _]mulrC.
Qed.

End Tilted.

Section Published.
Variables (R : realFieldType) (S X F Y O : finType).
Variables (P : F -> S -> X -> R) (Q : F -> Y -> X -> R) (W : F -> O -> R).
Implicit Types (p : S -> X -> R) (g h lo up : R) (f : F) (y : Y) (o : O).

(** What somebody expects who expected p and has seen the file, the row and all other rows *)
Definition seeing p f y o : S -> X -> R := fun s x => p s x * (P f s x * (Q f y x * W f o)).

(** By how much the belief in s has moved *)
Definition moved p f y o s := belief (seeing p f y o) s / belief p s.

Definition moves_within lo up p f := forall y o s, 0 < belief p s -> 0 < total (seeing p f y o) ->
  lo <= moved p f y o s <= up.

(** Odds of two secrets move by at most up: P(f, y, o | s) <= up P(f, y, o | t). *)
Definition odds_within up p f := forall y o s t, 0 < belief p s -> 0 < belief p t ->
  mass (seeing p f y o) s / mass p s <= up * (mass (seeing p f y o) t / mass p t).

(** All records, or all secrets of those who have the same x, make the file f about equally likely. That is what
    epsilon_0-differential privacy says of every file: neighbours differ in one record. *)
Definition alike h f := forall s x t z, P f s x <= h * P f t z.
Definition alike_given_x h f := forall x s t, P f s x <= h * P f t x.

Hypothesis P_ge0 : forall f s x, 0 <= P f s x.
Hypothesis Q_channel : forall f, channel (Q f).
Hypothesis W_ge0 : forall f o, 0 <= W f o.

Add Field Published_field : (@field_laws R).

Let Q_ge0 f y : likelihood (Q f y). Proof. by move=> x; case: (Q_channel f). Qed.
Let row f y o x := Q f y x * W f o.
Let row_ge0 f y o : likelihood (row f y o). Proof. by move=> x; apply: mulr_ge0 => //; exact: Q_ge0. Qed.

Lemma seeing_ge0 p f y o : weights p -> weights (seeing p f y o).
Proof. by move=> hp s x; apply: mulr_ge0 => //; apply: mulr_ge0 => //; exact: row_ge0. Qed.

(** Without divisions *)
Lemma moved_within lo up p f y o s : weights p -> 0 < belief p s -> 0 < total (seeing p f y o) ->
  (lo <= moved p f y o s <= up) =
  (lo * (mass p s * total (seeing p f y o)) <= mass (seeing p f y o) s * total p) &&
  (mass (seeing p f y o) s * total p <= up * (mass p s * total (seeing p f y o))).
Proof.
move=> hp; rewrite belief_gt0 // => hs ht; have hT := mass_total_gt0 hp hs.
have -> : moved p f y o s = mass (seeing p f y o) s * total p / (mass p s * total (seeing p f y o)).
  have /eqP s_neq0 := lt0r_neq0 hs; have /eqP t_neq0 := lt0r_neq0 ht; have /eqP T_neq0 := lt0r_neq0 hT.
  by rewrite /moved /belief; plain R; field.
by rewrite ler_pdivl_mulr ?ler_pdivr_mulr ?mulr_gt0.
Qed.

Lemma nothing_of_the_row p f y o : weights p -> total (given p (row f y o)) = 0 -> total (seeing p f y o) = 0.
Proof.
move=> hp e; rewrite /total big1 // => s _; rewrite /mass big1 // => x _.
have := total_0_mass s (weights_given hp (row_ge0 f y o)) e.
move/(psumr_eq0P (fun x _ => weights_given hp (row_ge0 f y o) s x))/(_ x isT).
move=> e0; have {}e0 : p s x * (Q f y x * W f o) = 0 := e0.
by rewrite /seeing mulrCA e0 mulr0.
Qed.

(** Limits of the row, and a file that is about equally likely for all records that somebody holds possible *)
Lemma row_and_file lo up h p f y o s : weights p -> 0 <= lo -> 0 <= up -> 0 < h ->
  (forall s x t z, 0 < p s x -> 0 < p t z -> P f s x <= h * P f t z) ->
  above lo p (row f y o) s -> below up p (row f y o) s ->
  0 < belief p s -> 0 < total (seeing p f y o) -> lo / h <= moved p f y o s <= up * h.
Proof.
move=> hp lo_ge0 up_ge0 h_gt0 near lo_s up_s hs ht; rewrite moved_within //.
have hr := weights_given hp (row_ge0 f y o).
have g_gt0 : 0 < total (given p (row f y o)).
  rewrite lt_def total_ge0 // andbT; apply: contraTneq ht => e; by rewrite nothing_of_the_row // ltxx.
have near' t x t' z : seeing p f y o t x * given p (row f y o) t' z <=
                      h * (given p (row f y o) t x * seeing p f y o t' z).
  have [e|ne] := eqVneq (p t x) 0; first by rewrite /seeing /given e !mul0r mulr0.
  have [e|ne'] := eqVneq (p t' z) 0; first by rewrite /seeing /given e !mul0r !mulr0.
  have p_gt0 : 0 < p t x by rewrite lt_def ne hp.
  have p'_gt0 : 0 < p t' z by rewrite lt_def ne' hp.
  have c_ge0 : 0 <= p t x * row f y o x * (p t' z * row f y o z).
    by apply: mulr_ge0; apply: mulr_ge0; rewrite ?hp //; exact: row_ge0.
  have := ler_wpmul2r c_ge0 (near t x t' z p_gt0 p'_gt0).
  rewrite /seeing /given -/(row f y o x) -/(row f y o z); congr (_ <= _); plain R; ring.
have up_t := tilted_up near' s; have down_t := tilted_down near' s.
have T_gt0 : 0 < total p by apply: (mass_total_gt0 (s := s)) => //; rewrite -belief_gt0.
apply/andP; split; rewrite -(ler_pmul2r g_gt0).
- rewrite -(ler_pmul2l h_gt0).
  have le1 := ler_wpmul2r (ltW ht) lo_s.
  have le2 := ler_wpmul2r (ltW T_gt0) down_t.
  have /eqP h_neq0 := lt0r_neq0 h_gt0.
  have e1 : h * (lo / h * (mass p s * total (seeing p f y o)) * total (given p (row f y o))) =
            lo * (mass p s * total (given p (row f y o))) * total (seeing p f y o) by plain R; field.
  have e2 : mass (given p (row f y o)) s * total p * total (seeing p f y o) =
            mass (given p (row f y o)) s * total (seeing p f y o) * total p by plain R; ring.
  have e3 : h * (mass (seeing p f y o) s * total p * total (given p (row f y o))) =
            h * (mass (seeing p f y o) s * total (given p (row f y o))) * total p by plain R; ring.
  by rewrite e1 e3 (le_trans le1) // e2.
- have le1 := ler_wpmul2r (ltW T_gt0) up_t.
  have h_total : 0 <= h * total (seeing p f y o) by rewrite mulr_ge0 ?ltW.
  have le2 := ler_wpmul2r h_total up_s.
  have e1 : mass (seeing p f y o) s * total p * total (given p (row f y o)) =
            mass (seeing p f y o) s * total (given p (row f y o)) * total p by plain R; ring.
  have e2 : h * (mass (given p (row f y o)) s * total (seeing p f y o)) * total p =
            mass (given p (row f y o)) s * total p * (h * total (seeing p f y o)) by plain R; ring.
  have e3 : up * (mass p s * total (given p (row f y o))) * (h * total (seeing p f y o)) =
            up * h * (mass p s * total (seeing p f y o)) * total (given p (row f y o)) by plain R; ring.
  by rewrite e1 -e3 (le_trans le1) // e2.
Qed.

Lemma mass_row p f y o s : mass (given p (row f y o)) s = W f o * mass (given p (Q f y)) s.
Proof. by rewrite -mass_scale; apply: same_mass => x; rewrite /given /row [W f o * _]mulrC. Qed.

Lemma total_row p f y o : total (given p (row f y o)) = W f o * total (given p (Q f y)).
Proof. by rewrite /total mulr_sumr; apply: eq_bigr => s _; exact: mass_row. Qed.

Lemma below_row up p f y o s : below up p (Q f y) s -> below up p (row f y o) s.
Proof.
move=> h; have := ler_wpmul2l (W_ge0 f o) h.
by rewrite /below mass_row total_row; congr (_ <= _); plain R; ring.
Qed.

Lemma above_row lo p f y o s : above lo p (Q f y) s -> above lo p (row f y o) s.
Proof.
move=> h; have := ler_wpmul2l (W_ge0 f o) h.
by rewrite /above mass_row total_row; congr (_ <= _); plain R; ring.
Qed.

(** *** Theorem 1: they know x, too. No belief moves by more than what the file tells, whatever the channel. *)
Theorem theorem_1 p f h x0 : weights p -> (forall s x, x != x0 -> p s x = 0) -> 0 < h ->
  alike_given_x h f -> moves_within h^-1 h p f.
Proof.
move=> hp only_x0 h_gt0 near y o s hs ht; suff : 1 / h <= moved p f y o s <= 1 * h by rewrite div1r mul1r.
have told t : mass (given p (row f y o)) t = row f y o x0 * mass p t.
  rewrite /mass mulr_sumr; apply: eq_bigr => x _; rewrite /given mulrC.
  by have [->//|ne] := eqVneq x x0; rewrite only_x0 // !mulr0.
have total_told : total (given p (row f y o)) = row f y o x0 * total p.
  by rewrite /total mulr_sumr; apply: eq_bigr => t _.
have at_x0 t x : 0 < p t x -> x = x0.
  by move=> p_gt0; apply/eqP; apply: contraTT p_gt0 => ne; rewrite only_x0 // ltxx.
apply: row_and_file => //; rewrite ?ler01 //; last first.
- by rewrite /below told total_told mul1r; apply: equal_le; plain R; ring.
- by rewrite /above told total_told mul1r; apply: equal_le; plain R; ring.
by move=> t x t' z /at_x0 -> /at_x0 ->.
Qed.

(** *** Theorem 2: they expect p, and the file's channel keeps the promise for p. The levels of the promise and of the
    file add up: their factors multiply. *)
Theorem theorem_2_ALIP p f h lo up : weights p -> 0 <= lo -> 0 <= up -> 0 < h -> alike h f ->
  ALIP lo up p (Q f) -> moves_within (lo / h) (up * h) p f.
Proof.
move=> hp lo_ge0 up_ge0 h_gt0 near alip y o s hs ht; apply: row_and_file => //.
  by apply: above_row; exact: (lift_aboveP _ hp (Q_ge0 f y)).1 (alip y).1 s.
by apply: below_row; exact: (lift_belowP _ hp (Q_ge0 f y)).1 (alip y).2 s.
Qed.

Theorem theorem_2_LIP p f h g : weights p -> 1 <= g -> 0 < h -> alike h f ->
  LIP g p (Q f) -> moves_within (g * h)^-1 (g * h) p f.
Proof.
move=> hp g_ge1 h_gt0 near lip; have g_gt0 : 0 < g by exact: lt_le_trans ltr01 g_ge1.
by rewrite invfM; apply: theorem_2_ALIP; rewrite ?invr_ge0 ?ltW.
Qed.

Theorem theorem_2_PML p f h g : weights p -> 1 <= g -> 0 < h -> alike h f ->
  PML g p (Q f) -> moves_within 0 (g * h) p f.
Proof.
move=> hp g_ge1 h_gt0 near pml; have g_gt0 : 0 < g by exact: lt_le_trans ltr01 g_ge1.
rewrite -[X in moves_within X](mul0r h^-1).
apply: theorem_2_ALIP => // [|y]; first exact: ltW.
split; last exact: pml.
by apply/(lift_aboveP _ hp (Q_ge0 f y)) => s; exact: above_0.
Qed.

(** Given x^J the same holds of what somebody expects who knows x^J. *)
Theorem theorem_2_SRLIP (I : finType) (A : eqType) (attr : I -> X -> A) known p f h g J x0 :
  weights p -> 1 <= g -> 0 < h -> alike h f ->
  SRLIP attr known g p (Q f) -> known J -> moves_within (g * h)^-1 (g * h) (knowing attr p J x0) f.
Proof.
move=> hp g_ge1 h_gt0 near srlip kJ; apply: theorem_2_LIP => //; last exact: srlip.
by apply: weights_given => // x; rewrite ler0n.
Qed.

(** LDP: odds move by at most the product. *)
Theorem theorem_2_LDP p f h g : weights p -> 1 <= g -> 0 < h -> alike h f ->
  LDP g p (Q f) -> odds_within (g * h) p f.
Proof.
move=> hp g_ge1 h_gt0 near ldp y o s t; rewrite !belief_gt0 // => hs ht.
have g_gt0 : 0 < g by exact: lt_le_trans ltr01 g_ge1.
have ldp_st := (lifts_closeP _ hp (Q_ge0 f y)).1 (ldp y) s t.
have close_st : close g p (row f y o) s t.
  have := ler_wpmul2l (W_ge0 f o) ldp_st.
  by rewrite /close !mass_row; congr (_ <= _); plain R; ring.
have near' u x v z : seeing p f y o u x * given p (row f y o) v z <=
                     h * (given p (row f y o) u x * seeing p f y o v z).
  have c_ge0 : 0 <= p u x * row f y o x * (p v z * row f y o z).
    by apply: mulr_ge0; apply: mulr_ge0; rewrite ?hp //; exact: row_ge0.
  have := ler_wpmul2r c_ge0 (near u x v z).
  rewrite /seeing /given -/(row f y o x) -/(row f y o z); congr (_ <= _); plain R; ring.
have tilt : mass (seeing p f y o) s * mass (given p (row f y o)) t <=
            h * (mass (given p (row f y o)) s * mass (seeing p f y o) t).
  rewrite mulrA [h * mass _ s]mulr_sumr !mulr_suml; apply: ler_sum => x _.
  by rewrite /mass !mulr_sumr; apply: ler_sum => z _; rewrite -mulrA.
rewrite ler_pdivr_mulr // mulrA mulrAC ler_pdivl_mulr //.
have [e|mt_neq0] := eqVneq (mass (given p (row f y o)) t) 0.
  have ms0 : mass (given p (row f y o)) s = 0.
    apply/le_anti; rewrite mass_ge0 ?andbT; last exact: weights_given.
    by rewrite -(ler_pmul2r ht) mul0r (le_trans close_st) // e mul0r mulr0.
  have -> : mass (seeing p f y o) s = 0.
    rewrite /mass big1 // => x _.
    move/(psumr_eq0P (fun x _ => weights_given hp (row_ge0 f y o) s x))/(_ x isT): ms0 => e0.
    by have {}e0 : p s x * (Q f y x * W f o) = 0 := e0; rewrite /seeing mulrCA e0 mulr0.
  by rewrite mul0r; do 3?apply: mulr_ge0; rewrite ?mass_ge0 ?(ltW g_gt0) ?(ltW h_gt0) //; exact: seeing_ge0.
have mt_gt0 : 0 < mass (given p (row f y o)) t.
  by rewrite lt_def mt_neq0 mass_ge0 //; exact: weights_given.
rewrite -(ler_pmul2r mt_gt0).
have le1 := ler_wpmul2r (ltW ht) tilt.
have c_ge0 : 0 <= h * mass (seeing p f y o) t by apply: mulr_ge0; [exact: ltW | apply: mass_ge0; exact: seeing_ge0].
have le2 := ler_wpmul2r c_ge0 close_st.
have e1 : mass (seeing p f y o) s * mass p t * mass (given p (row f y o)) t =
          mass (seeing p f y o) s * mass (given p (row f y o)) t * mass p t by plain R; ring.
have e2 : h * (mass (given p (row f y o)) s * mass (seeing p f y o) t) * mass p t =
          mass (given p (row f y o)) s * mass p t * (h * mass (seeing p f y o) t) by plain R; ring.
have e3 : g * (mass (given p (row f y o)) t * mass p s) * (h * mass (seeing p f y o) t) =
          g * h * mass (seeing p f y o) t * mass p s * mass (given p (row f y o)) t by plain R; ring.
by rewrite e1 -e3 (le_trans le1) // e2.
Qed.

Theorem theorem_2_SRLDP (I : finType) (A : eqType) (attr : I -> X -> A) known p f h g J x0 :
  weights p -> 1 <= g -> 0 < h -> alike h f ->
  SRLDP attr known g p (Q f) -> known J -> odds_within (g * h) (knowing attr p J x0) f.
Proof.
move=> hp g_ge1 h_gt0 near srldp kJ; apply: theorem_2_LDP => //; last exact: srldp.
by apply: weights_given => // x; rewrite ler0n.
Qed.

(** Limits of their own for every value, and limits of a belief: each is widened by the factor of the file. *)
Theorem theorem_2_each p f h (lo up : S -> R) : weights p -> (forall s, 0 <= lo s) -> (forall s, 0 <= up s) -> 0 < h ->
  alike h f -> each_within_limits lo up p (Q f) -> forall y o s, 0 < belief p s -> 0 < total (seeing p f y o) ->
  lo s / h <= moved p f y o s <= up s * h.
Proof.
move=> hp lo_ge0 up_ge0 h_gt0 near limits y o s hs ht; have hs' := hs; rewrite belief_gt0 // in hs'.
have T_gt0 := mass_total_gt0 hp hs'.
have [e|ne] := eqVneq (total (given p (Q f y))) 0.
  have [e1 e2] := nothing_seen hp (Q_ge0 f y) (or_intror (mass p s = 0) e).
  by apply: row_and_file => //; [apply: above_row | apply: below_row]; rewrite /above /below e1 e2 mul0r mulr0.
have g_gt0 := total_gt0 (weights_given hp (Q_ge0 f y)) ne; have := limits y s hs g_gt0.
rewrite lift_at_least // lift_at_most // => /andP[l u].
by apply: row_and_file => //; [apply: above_row | apply: below_row].
Qed.

Theorem theorem_2_belief p f h b s : weights p -> 0 < h -> alike h f -> belief_at_most b p (Q f) s ->
  forall y o, 0 < total (seeing p f y o) -> belief (seeing p f y o) s <= b * h.
Proof.
move=> hp h_gt0 near limit y o ht; set a := given p (row f y o).
have a_ge0 : weights a by apply: weights_given => //; exact: row_ge0.
have a_gt0 : 0 < total a.
  rewrite lt_def total_ge0 // andbT; apply/eqP => e; move: ht.
  by rewrite (nothing_of_the_row hp e) ltxx.
have near' u x v z : seeing p f y o u x * a v z <= h * (a u x * seeing p f y o v z).
  have c_ge0 : 0 <= p u x * row f y o x * (p v z * row f y o z).
    by apply: mulr_ge0; apply: mulr_ge0; rewrite ?hp //; exact: row_ge0.
  have := ler_wpmul2r c_ge0 (near u x v z).
  rewrite /seeing /a /given -/(row f y o x) -/(row f y o z); congr (_ <= _); plain R; ring.
have row_b : mass a s <= b * total a.
  have := ler_wpmul2l (W_ge0 f o) ((belief_atP b s hp (Q_ge0 f y)).1 (limit y)).
  by rewrite /a mass_row total_row; congr (_ <= _); plain R; ring.
rewrite /belief ler_pdivr_mulr // -(ler_pmul2r a_gt0).
apply: le_trans (tilted_up near' s) _.
have c_ge0 : 0 <= h * total (seeing p f y o) by apply: mulr_ge0; exact: ltW.
have := ler_wpmul2r c_ge0 row_b; congr (_ <= _); plain R; ring.
Qed.

(** *** With delta_0: all of this is about single files. *)

(** A file whose likelihoods are between (1 - delta) m / a and a m for some m is alike up to a^2 / (1 - delta): noisy
    counts above a threshold, with a = e^(epsilon_0 / 2), where delta bounds the chance that somebody alone in their cell is
    told. *)
Theorem alike_around h a delta f m : 0 < a -> delta < 1 -> h = a * a / (1 - delta) ->
  (forall s x, (1 - delta) / a * m <= P f s x <= a * m) -> alike h f.
Proof.
move=> a_gt0 d_lt1 -> near s x t z; have /andP[_ up] := near s x; have /andP[lo _] := near t z.
have d_gt0 : 0 < 1 - delta by rewrite subr_gt0.
have c_ge0 : 0 <= a * a / (1 - delta) by rewrite divr_ge0 ?mulr_ge0 // ltW.
apply: le_trans up (le_trans _ (ler_wpmul2l c_ge0 lo)).
have /eqP a_neq0 := lt0r_neq0 a_gt0; have /eqP d_neq0 := lt0r_neq0 d_gt0.
by apply: equal_le; plain R; field.
Qed.

(** Except with a probability of at most delta, whatever the person's record is, the file is such that every p for which
    its channel keeps the promise (p may depend on the file) moves by at most the product. *)
Theorem except_with_delta delta h g (G : pred F) : 1 <= g -> 0 < h ->
  (forall f, G f -> alike h f) -> (forall s x, \sum_(f | ~~ G f) P f s x <= delta) ->
  exists safe : pred F, (forall s x, \sum_(f | ~~ safe f) P f s x <= delta) /\
    forall f, safe f -> forall p, weights p -> LIP g p (Q f) -> moves_within (g * h)^-1 (g * h) p f.
Proof.
by move=> g_ge1 h_gt0 near small; exists G; split=> // f Gf p hp lip; apply: theorem_2_LIP => //; exact: near.
Qed.

(** *** Theorem 3: if for every two records the chance is at most tau that the file is more than h times as likely for one
    as for the other, then but for a chance of n^2 tau, n the number of records, theorem 2 holds for every p. *)
Theorem theorem_3 tau h g : 1 <= g -> 0 < h ->
  (forall q r r' : S * X, \sum_(f | h * P f r'.1 r'.2 < P f r.1 r.2) P f q.1 q.2 <= tau) ->
  exists safe : pred F,
    (forall s x, \sum_(f | ~~ safe f) P f s x <= (#|{: S * X}| * #|{: S * X}|)%:R * tau) /\
    forall f, safe f -> forall p, weights p -> LIP g p (Q f) -> moves_within (g * h)^-1 (g * h) p f.
Proof.
move=> g_ge1 h_gt0 rare.
pose over f (rr : (S * X) * (S * X)) := h * P f rr.2.1 rr.2.2 < P f rr.1.1 rr.1.2.
apply: (@except_with_delta _ _ _ (fun f => [forall rr, ~~ over f rr])) => // [f /forallP h_f s x t z|s x].
  by have := h_f ((s, x), (t, z)); rewrite -leNgt.
apply: (@le_trans _ _ (\sum_rr \sum_(f | over f rr) P f s x)).
  rewrite (exchange_big_dep (fun f => ~~ [forall rr, ~~ over f rr])) /=; last first.
    by move=> rr f _ h_f; rewrite negb_forall; apply/existsP; exists rr; rewrite negbK.
  apply: ler_sum => f; rewrite negb_forall => /existsP[rr]; rewrite negbK => h_f.
  by rewrite (bigD1 rr) //= ler_addl sumr_ge0.
rewrite -card_prod -sum1_card natr_sum mulr_suml; apply: ler_sum => -[r r'] _.
by rewrite mul1r; exact: (rare (s, x) r r').
Qed.

End Published.

(** *** Theorem 2 for several secrets: for every event of a promise, coarse s = t *)
Section Events.
Variables (R : realFieldType) (S T X F Y O : finType) (coarse : S -> T).
Variables (P : F -> S -> X -> R) (Q : F -> Y -> X -> R) (W : F -> O -> R).
Hypothesis Q_channel : forall f, channel (Q f).
Hypothesis W_ge0 : forall f o, 0 <= W f o.

(** The record as the value, the event as the secret *)
Let spread (q : S -> X -> R) t (sx : S * X) := if coarse sx.1 == t then q sx.1 sx.2 else 0.

Let mass_spread q t : mass (spread q) t = mass (about coarse q) t.
Proof.
rewrite mass_about /mass /spread -(pair_bigA _ (fun s x => if coarse s == t then q s x else 0)) /=.
rewrite [RHS]big_mkcond; apply: eq_bigr => s _; case: ifP => // _; by rewrite big1.
Qed.

Let total_spread q : total (spread q) = total (about coarse q).
Proof. by apply: eq_bigr => t _; exact: mass_spread. Qed.

Let belief_spread q t : belief (spread q) t = belief (about coarse q) t.
Proof. by rewrite /belief mass_spread total_spread. Qed.

Let given_spread q r t sx : given (spread q) (fun sx => r sx.2) t sx = spread (given q r) t sx.
Proof. by rewrite /given /spread; case: ifP; rewrite ?mul0r. Qed.

Theorem theorem_2_about p f h lo up : weights p -> 0 <= lo -> 0 <= up -> 0 < h -> alike P h f ->
  ALIP lo up (about coarse p) (Q f) -> forall y o t, 0 < belief (about coarse p) t ->
  0 < total (seeing P Q W p f y o) ->
  lo / h <= belief (about coarse (seeing P Q W p f y o)) t / belief (about coarse p) t <= up * h.
Proof.
move=> hp lo_ge0 up_ge0 h_gt0 near limits y o t ht seen.
pose P' f (_ : T) (sx : S * X) := P f sx.1 sx.2; pose Q' f y (sx : S * X) := Q f y sx.2.
have Q'_channel g : channel (Q' g).
  by have [ge0 sums] := Q_channel g; split=> [z sx|sx]; [exact: ge0 | exact: sums].
have spread_ge0 : weights (spread p) by move=> u sx; rewrite /spread; case: ifP.
have same g u sx : given (spread p) (Q' f g) u sx = spread (given p (Q f g)) u sx by exact: given_spread.
have same' g u x : given (about coarse p) (Q f g) u x = about coarse (given p (Q f g)) u x by exact: given_about.
have promise : ALIP lo up (spread p) (Q' f).
  move=> z; have [l u] := limits z; split=> v; rewrite belief_spread (same_total (same z)) total_spread;
    rewrite -(same_total (same' z)) => hv seen_z; rewrite /lift belief_spread (same_belief v (same z)) belief_spread;
    rewrite -(same_belief v (same' z)); [exact: l | exact: u].
have sees u sx : seeing P' Q' W (spread p) f y o u sx = spread (seeing P Q W p f y o) u sx.
  by rewrite /seeing /spread; case: ifP; rewrite ?mul0r.
have := @theorem_2_ALIP _ _ _ _ _ _ P' Q' W Q'_channel W_ge0 (spread p) f h lo up
  spread_ge0 lo_ge0 up_ge0 h_gt0 (fun u sx v tz => near _ _ _ _) promise y o t.
rewrite /moved !belief_spread (same_belief t sees) belief_spread (same_total sees) total_spread total_about.
by apply.
Qed.

End Events.

(** ** False variants, refuted *)

(** The file tells something by itself: the promise of the channel alone does not hold for everything published. *)
Theorem not_theorem_2_without_the_fit :
  ~ (forall (S X F Y O : finType) (P : F -> S -> X -> rat) (Q : F -> Y -> X -> rat) (W : F -> O -> rat) p f h g,
       (forall f s x, 0 <= P f s x) -> (forall f, channel (Q f)) -> (forall f o, 0 <= W f o) ->
       weights p -> 1 <= g -> 0 < h -> alike P h f -> LIP g p (Q f) -> moves_within P Q W g^-1 g p f).
Proof.
move=> claim; have p_ge0 := fair_bit_law.1.
pose P (f s : bool) (_ : bool) := three_quarters f s.
pose Q (_ : bool) (_ : unit) (_ : bool) : rat := 1; pose W (_ : bool) (_ : unit) : rat := 1.
have Q_channel f : channel (Q f) by split=> // x; rewrite big_const card_unit /= addr0.
have P_ge0 f s x : 0 <= P f s x by rewrite /P; case: f s => [] [].
have near : alike P 3%:R true by move=> [] x [] z; rewrite /P; vm_compute.
have one y : likelihood (Q true y) by [].
have lip : LIP 1 fair_bit (Q true).
  by move=> y; split; [apply/lift_aboveP | apply/lift_belowP] => // s;
    rewrite /above /below /total /mass !big_bool; case: s; vm_compute.
have := claim _ _ _ _ _ P Q W _ true 3%:R 1 P_ge0 Q_channel (fun _ _ => isT) p_ge0 (lexx 1) isT near lip tt tt true.
by rewrite /moved /belief /total /mass /seeing !big_bool; vm_compute => /(_ isT isT).
Qed.

(** Theorem 1 is about those who know x: to others the row tells the secret, whatever the file does. *)
Theorem not_theorem_1_for_who_does_not_know_x :
  ~ (forall (S X F Y O : finType) (P : F -> S -> X -> rat) (Q : F -> Y -> X -> rat) (W : F -> O -> rat) p f h,
       (forall f s x, 0 <= P f s x) -> (forall f, channel (Q f)) -> (forall f o, 0 <= W f o) ->
       weights p -> 0 < h -> alike P h f -> moves_within P Q W h^-1 h p f).
Proof.
move=> claim; have p_ge0 := fair_bit_law.1.
pose P (_ : unit) (_ _ : bool) : rat := 1; pose W (_ _ : unit) : rat := 1.
have Q_channel (f : unit) : channel shown by split=> [[] []|[]] //; rewrite big_bool.
have near : alike P 1 tt by [].
have := claim _ _ _ _ _ P (fun=> shown) W _ tt 1 (fun _ _ _ => isT) Q_channel (fun _ _ => isT) p_ge0 isT near true tt true.
by rewrite /moved /belief /total /mass /seeing !big_bool; vm_compute => /(_ isT isT).
Qed.

(** Where some records make a file impossible, no factor bounds what this file tells: delta_0 is needed. *)
Theorem not_every_file_is_safe :
  ~ (forall (S X F Y O : finType) (P : F -> S -> X -> rat) (Q : F -> Y -> X -> rat) (W : F -> O -> rat) p delta h g
       (G : pred F),
       (forall f s x, 0 <= P f s x) -> (forall f, channel (Q f)) -> (forall f o, 0 <= W f o) ->
       weights p -> 1 <= g -> 0 < h -> (forall f, G f -> alike P h f) ->
       (forall s x, \sum_(f | ~~ G f) P f s x <= delta) -> (forall f, LIP g p (Q f)) ->
       forall f, moves_within P Q W (g * h)^-1 (g * h) p f).
Proof.
move=> claim; have p_ge0 := fair_bit_law.1.
pose P (f s : bool) (_ : bool) : rat := if f then (if s then 1 / 10%:R else 0) else (if s then 9%:R / 10%:R else 1).
pose Q (_ : bool) (_ : unit) (_ : bool) : rat := 1; pose W (_ : bool) (_ : unit) : rat := 1.
have Q_channel f : channel (Q f) by split=> // x; rewrite big_const card_unit /= addr0.
have P_ge0 f s x : 0 <= P f s x by rewrite /P; case: f s => [] [].
have near f : ~~ f -> alike P 2%:R f by case: f => // _ [] x [] z; rewrite /P; vm_compute.
have small s x : \sum_(f | ~~ ~~ f) P f s x <= 1 / 10%:R.
  by rewrite big_mkcond big_bool /P; case: s; vm_compute.
have lip f : LIP 1 fair_bit (Q f).
  by move=> y; split; [apply/lift_aboveP | apply/lift_belowP] => // s;
    rewrite /above /below /total /mass !big_bool; case: s; vm_compute.
have := claim _ _ _ _ _ P Q W _ _ 2%:R 1 negb P_ge0 Q_channel (fun _ _ => isT) p_ge0 (lexx 1) isT near small lip
  true tt tt false.
by rewrite /moved /belief /total /mass /seeing !big_bool; vm_compute => /(_ isT isT).
Qed.

(** A limit of a belief is widened by the file, too. *)
Theorem not_theorem_2_belief_without_the_fit :
  ~ (forall (S X F Y O : finType) (P : F -> S -> X -> rat) (Q : F -> Y -> X -> rat) (W : F -> O -> rat) p f h b s,
       (forall f s x, 0 <= P f s x) -> (forall f, channel (Q f)) -> (forall f o, 0 <= W f o) ->
       weights p -> 0 < h -> alike P h f -> belief_at_most b p (Q f) s ->
       forall y o, 0 < total (seeing P Q W p f y o) -> belief (seeing P Q W p f y o) s <= b).
Proof.
move=> claim; have p_ge0 := fair_bit_law.1.
pose P (f s : bool) (_ : bool) := three_quarters f s.
pose Q (_ : bool) (_ : unit) (_ : bool) : rat := 1; pose W (_ : bool) (_ : unit) : rat := 1.
have Q_channel f : channel (Q f) by split=> // x; rewrite big_const card_unit /= addr0.
have P_ge0 f s x : 0 <= P f s x by rewrite /P; case: f s => [] [].
have near : alike P 3%:R true by move=> [] x [] z; rewrite /P; vm_compute.
have half : belief_at_most (1 / 2%:R) fair_bit (Q true) true.
  by move=> y _; rewrite /belief /total /mass !big_bool; vm_compute.
have := claim _ _ _ _ _ P Q W _ true 3%:R _ true P_ge0 Q_channel (fun _ _ => isT) p_ge0 isT near half tt tt.
by rewrite /belief /total /mass /seeing !big_bool; vm_compute => /(_ isT).
Qed.
