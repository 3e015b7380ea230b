(** The check as a program on lists of binary whole numbers, from which OCaml's is extracted. What it accepts keeps the
    promise.

    A case is: counts[s][x], the width (number of values of X), cells (for each group of attackers what they know: 1 or 0
    for every x), rows[y][x] with columns that sum to D, and a / b below e^epsilon. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Coq Require BinNat.
From Privacyfunnel Require Import arithmetic channels promises certificate binary.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.

Definition zero := BinNums.N0.

Fixpoint dot (u v : seq binary) : binary := if u is i :: u' then if v is j :: v' then i *b j +b dot u' v' else zero else zero.
Fixpoint products (u v : seq binary) : seq binary :=
  if u is i :: u' then if v is j :: v' then (i *b j) :: products u' v' else [::] else [::].
Definition plus (u : seq binary) : binary := foldr BinNat.N.add zero u.
Fixpoint column_sums (width : nat) (rows : seq (seq binary)) : seq binary :=
  if rows is row :: rows' then [seq ij.1 +b ij.2 | ij <- zip row (column_sums width rows')] else nseq width zero.

Section Program.
Variables (counts rows cells : seq (seq binary)) (width : nat) (D a b : binary).

(** Every list is as long as X has values, columns sum to D, and b is not 0. *)
Definition well_formed := [&& all (fun u => size u == width) counts, all (fun u => size u == width) rows,
  all (fun u => size u == width) cells, all (fun i => BinNat.N.eqb i D) (column_sums width rows),
  BinNat.N.leb (BinNums.Npos BinNums.xH) D & BinNat.N.leb (BinNums.Npos BinNums.xH) b].

Definition people_list (m u : seq binary) := dot u m.
Definition everybody_list (m : seq binary) := plus [seq dot u m | u <- counts].

Definition lower_list (m row u : seq binary) := BinNat.N.leb
  (dot u m *b everybody_list (products m row) *b b) (a *b (dot u (products m row) *b everybody_list m)).
Definition upper_list (m row u : seq binary) := BinNat.N.leb
  (dot u (products m row) *b everybody_list m *b b) (a *b (dot u m *b everybody_list (products m row))).
Definition close_list (m row u v : seq binary) := BinNat.N.leb
  (dot u (products m row) *b dot v m *b b) (a *b (dot v (products m row) *b dot u m)).

Definition accepts_PML :=
  well_formed && all (fun m => all (fun row => all (fun u => upper_list m row u) counts) rows) cells.
Definition accepts_LIP := accepts_PML &&
  all (fun m => all (fun row => all (fun u => lower_list m row u) counts) rows) cells.
Definition accepts_LDP := well_formed &&
  all (fun m => all (fun row => all (fun u => all (fun v => close_list m row u v) counts) counts) rows) cells.

(** What the lists stand for *)
Definition n (s : 'I_(size counts)) (x : 'I_width) : nat := nat_of_bin (nth zero (nth [::] counts s) x).
Definition k (y : 'I_(size rows)) (x : 'I_width) : nat := nat_of_bin (nth zero (nth [::] rows y) x).
Definition known_in (m : seq binary) (x : 'I_width) : nat := nat_of_bin (nth zero m x).

Lemma dot_sum (w : nat) u v : size u = w -> size v = w ->
  nat_of_bin (dot u v) = (\sum_(x < w) nat_of_bin (nth zero u x) * nat_of_bin (nth zero v x))%N.
Proof.
elim: u v w => [|i u IH] [|j v] [|w] //=; rewrite ?big_ord0 // => [[eu] [ev]].
by rewrite big_ord_recl nat_of_add_bin nat_of_mul_bin (IH v w eu ev).
Qed.

Lemma size_products u v w : size u = w -> size v = w -> size (products u v) = w.
Proof. by elim: u v w => [|i u IH] [|j v] [|w] //= [eu] [ev]; rewrite (IH v w eu ev). Qed.

Lemma nth_products u v w x : size u = w -> size v = w -> (x < w)%N ->
  nat_of_bin (nth zero (products u v) x) = (nat_of_bin (nth zero u x) * nat_of_bin (nth zero v x))%N.
Proof.
elim: u v w x => [|i u IH] [|j v] [|w] //= x [eu] [ev]; case: x => [|x] lt_x /=; first by rewrite nat_of_mul_bin.
exact: (IH v w).
Qed.

Lemma plus_sum (u : seq binary) : nat_of_bin (plus u) = (\sum_(i <- u) nat_of_bin i)%N.
Proof. by elim: u => [|i u IH] /=; rewrite ?big_nil // big_cons nat_of_add_bin IH. Qed.

Hypothesis formed : well_formed.

Lemma count_size s : (s < size counts)%N -> size (nth [::] counts s) = width.
Proof. by move=> hs; case/and5P: formed => /all_nthP h _ _ _ _; exact/eqP/h. Qed.

Lemma row_size y : (y < size rows)%N -> size (nth [::] rows y) = width.
Proof. by move=> hy; case/and5P: formed => _ /all_nthP h _ _ _; exact/eqP/h. Qed.

Lemma people_of_list (m : seq binary) (s : 'I_(size counts)) (m' : 'I_width -> nat) : size m = width ->
  (forall x : 'I_width, m' x = nat_of_bin (nth zero m x)) ->
  people n m' s = nat_of_bin (dot (nth [::] counts s) m).
Proof.
move=> em e; rewrite (dot_sum (count_size (ltn_ord s)) em); apply: eq_bigr => x _; by rewrite /n e.
Qed.

Lemma everybody_of_list (m : seq binary) (m' : 'I_width -> nat) : size m = width ->
  (forall x : 'I_width, m' x = nat_of_bin (nth zero m x)) -> everybody n m' = nat_of_bin (everybody_list m).
Proof.
move=> em e; rewrite /everybody_list plus_sum big_map (big_nth [::]) big_mkord.
by apply: eq_bigr => s _; exact: people_of_list.
Qed.

Lemma column_sum x : (x < width)%N ->
  nat_of_bin (nth zero (column_sums width rows) x) = (\sum_(u <- rows) nat_of_bin (nth zero u x))%N.
Proof.
move=> lt_x; have sizes : all (fun u => size u == width) rows by case/and5P: formed.
have [] : size (column_sums width rows) = width /\
  nat_of_bin (nth zero (column_sums width rows) x) = (\sum_(u <- rows) nat_of_bin (nth zero u x))%N; last by [].
elim: rows sizes => [_|u us IH] /=; first by rewrite size_nseq nth_nseq lt_x big_nil.
case/andP=> /eqP eu /IH [es ex]; rewrite size_map size_zip eu es minnn; split=> //.
rewrite (nth_map (zero, zero)) ?size_zip ?eu ?es ?minnn // nth_zip ?eu ?es //= nat_of_add_bin big_cons.
by rewrite ex.
Qed.

Lemma columns_are_D : numerators (nat_of_bin D) k.
Proof.
move=> x; case/and5P: formed => _ _ _ /all_nthP h _.
have sizes : size (column_sums width rows) = width.
  have : all (fun u => size u == width) rows by case/and5P: formed.
  elim: rows => [_|u us IH] /=; first by rewrite size_nseq.
  by case/andP=> /eqP eu /IH es; rewrite size_map size_zip eu es minnn.
have := h zero x; rewrite sizes ltn_ord => /(_ isT)/BinNat.N.eqb_eq e.
rewrite -{1}e column_sum // (big_nth [::]) big_mkord; by apply: eq_bigr.
Qed.

Section OneCell.
Variables (m : seq binary) (m_size : size m = width).

Let known_m (x : 'I_width) : known_in m x = nat_of_bin (nth zero m x). Proof. by []. Qed.
Let both_m (y : 'I_(size rows)) (x : 'I_width) :
  both (known_in m) (k y) x = nat_of_bin (nth zero (products m (nth [::] rows y)) x).
Proof. by rewrite (nth_products m_size (row_size (ltn_ord y))). Qed.
Let both_size (y : 'I_(size rows)) : size (products m (nth [::] rows y)) = width.
Proof. exact: (size_products m_size (row_size (ltn_ord y))). Qed.

Lemma upper_of_list (y : 'I_(size rows)) (s : 'I_(size counts)) :
  upper_list m (nth [::] rows y) (nth [::] counts s) =
  check_below (nat_of_bin a) (nat_of_bin b) n (known_in m) (k y) s.
Proof.
rewrite /upper_list leb_nat !nat_of_mul_bin /check_below (people_of_list s (both_size y) (both_m y)).
by rewrite (people_of_list s m_size known_m) (everybody_of_list (both_size y) (both_m y)) (everybody_of_list m_size known_m).
Qed.

Lemma lower_of_list (y : 'I_(size rows)) (s : 'I_(size counts)) :
  lower_list m (nth [::] rows y) (nth [::] counts s) =
  check_above (nat_of_bin a) (nat_of_bin b) n (known_in m) (k y) s.
Proof.
rewrite /lower_list leb_nat !nat_of_mul_bin /check_above (people_of_list s (both_size y) (both_m y)).
by rewrite (people_of_list s m_size known_m) (everybody_of_list (both_size y) (both_m y)) (everybody_of_list m_size known_m).
Qed.

Lemma close_of_list (y : 'I_(size rows)) (s t : 'I_(size counts)) :
  close_list m (nth [::] rows y) (nth [::] counts s) (nth [::] counts t) =
  check_close (nat_of_bin a) (nat_of_bin b) n (known_in m) (k y) s t.
Proof.
rewrite /close_list leb_nat !nat_of_mul_bin /check_close !(people_of_list _ (both_size y) (both_m y)).
by rewrite !(people_of_list _ m_size known_m).
Qed.

End OneCell.

Local Open Scope ring_scope.

(** *** What is accepted keeps the promise: the channel with these numerators, on the table of these counts, for the
    attackers of every cell. *)
Section Promises.
Variables (R : realFieldType) (g : R).
Hypotheses (g_ge1 : 1 <= g) (rounded_down : (nat_of_bin a)%:R / (nat_of_bin b)%:R <= g).

Let b_gt0 : (0 < nat_of_bin b)%N.
Proof. by case/and5P: formed => _ _ _ _ /andP[_]; rewrite leb_nat. Qed.
Let D_gt0 : (0 < nat_of_bin D)%N.
Proof. by case/and5P: formed => _ _ _ _ /andP[+ _]; rewrite leb_nat. Qed.

Definition table_of : 'I_(size counts) -> 'I_width -> R := law_of R n.
Definition channel_read : 'I_(size rows) -> 'I_width -> R := channel_of R (nat_of_bin D) k.

Lemma cell_size m : m \in cells -> size m = width.
Proof. by case/and5P: formed => _ _ /allP h _ _ /h /eqP. Qed.

Theorem accepted_is_a_channel : channel channel_read.
Proof. exact: channel_of_channel D_gt0 columns_are_D. Qed.

Theorem accepted_PML m : accepts_PML -> m \in cells -> PML g (given table_of (known R (known_in m))) channel_read.
Proof.
case/andP=> _ /allP h hm; apply: (certificate_PML_given b_gt0 rounded_down) => y s.
rewrite -(upper_of_list (cell_size hm)).
by have /(all_nthP [::])/(_ y (ltn_ord y))/(all_nthP [::])/(_ s (ltn_ord s)) := h m hm.
Qed.

Theorem accepted_LIP m : accepts_LIP -> m \in cells -> LIP g (given table_of (known R (known_in m))) channel_read.
Proof.
case/andP=> /andP[_ /allP h] /allP h' hm; apply: (certificate_LIP_given _ b_gt0 g_ge1 rounded_down) => y s; split.
  rewrite -(upper_of_list (cell_size hm)).
  by have /(all_nthP [::])/(_ y (ltn_ord y))/(all_nthP [::])/(_ s (ltn_ord s)) := h m hm.
rewrite -(lower_of_list (cell_size hm)).
by have /(all_nthP [::])/(_ y (ltn_ord y))/(all_nthP [::])/(_ s (ltn_ord s)) := h' m hm.
Qed.

Theorem accepted_LDP m : accepts_LDP -> m \in cells -> LDP g (given table_of (known R (known_in m))) channel_read.
Proof.
case/andP=> _ /allP h hm; apply: (certificate_LDP_given _ b_gt0 rounded_down) => y s t.
rewrite -(close_of_list (cell_size hm)).
have /(all_nthP [::])/(_ y (ltn_ord y))/(all_nthP [::])/(_ s (ltn_ord s)) := h m hm.
by move/(all_nthP [::])/(_ t (ltn_ord t)).
Qed.

End Promises.

End Program.

(** ** A false variant, refuted: without looking at the columns, something else than a channel is accepted. *)
Theorem not_accepted_without_columns :
  ~ (forall counts rows cells width D a b,
       accepts_LIP counts rows cells width D a b = accepts_LIP counts rows cells width (D *b D) a b).
Proof.
by move=> /(_ [:: [:: bin_of_nat 1]] [:: [:: bin_of_nat 2]] [::] 1%N (bin_of_nat 2) (bin_of_nat 1) (bin_of_nat 1)).
Qed.
