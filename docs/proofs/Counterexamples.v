(** Theorem 1 as printed is false in four ways, and mended it fails for every d >= 4 (docs/theory.md, section 3).

    Signs of sums of exponentials come from the tactic [interval], in integers of Coq itself: with a precision given and
    this instance of the library, no machine number is trusted. *)

From Coq Require Import Reals List Lia Lra.
From RWS Require Import SignChanges Theorem1.
From Interval Require Import Float.Specific_stdz Float.Specific_ops.
From Interval Require Tactic.
Import ListNotations.
Open Scope R_scope.

Module Digits := SpecificFloat StdZRadix2.
Module Enclosure := Interval.Tactic.IntervalTactic Digits.
Import Enclosure.

Ltac enclose := interval with (Interval.Tactic.i_prec 60).

Lemma less_by_difference x y : 0 < y - x -> x < y.
Proof. lra. Qed.

Ltac sign := unfold F; simpl; apply less_by_difference; enclose.

(** ** Crossings by their two signs *)

Lemma F_expsum u r : F u r = expsum (map (fun x => (1, - x)) u) r.
Proof.
  unfold F. induction u as [|x u IH]; simpl; [reflexivity|]. rewrite IH, Rmult_1_l. do 2 f_equal. ring.
Qed.

Lemma F_continuity u : continuity (F u).
Proof.
  intros r. apply derivable_continuous_pt. eexists. intros eps Heps.
  destruct (expsum_derivative (map (fun x => (1, - x)) u) r eps Heps) as [d Hd]. exists d.
  intros h H0 Hh. rewrite 2!F_expsum. now apply Hd.
Qed.

Lemma crossing_down u v x y : x < y -> F u x > F v x -> F u y < F v y -> exists r, x < r < y /\ P u r = P v r.
Proof.
  intros Hxy Hx Hy.
  destruct (IVT_cor (fun r => F u r - F v r) x y) as (r & Hr & E).
  - intros r. apply continuity_pt_minus; apply F_continuity.
  - lra.
  - nra.
  - exists r. split; [|apply P_equal; lra].
    assert (r <> x) by (intros ->; lra). assert (r <> y) by (intros ->; lra). lra.
Qed.

Lemma crossing_up u v x y : x < y -> F u x < F v x -> F u y > F v y -> exists r, x < r < y /\ P u r = P v r.
Proof.
  intros Hxy Hx Hy. destruct (crossing_down v u x y Hxy Hx Hy) as (r & Hr & E). exists r. split; [lra | congruence].
Qed.

(** ** First: the sign of (b) *)

(** The larger smallest gap, and yet no crossing at any scale. *)
Theorem printed_b_is_false :
  delta [2] > delta [1] /\ P [2] 1 > P [1] 1 /\ forall r, 0 < r -> P [2] r > P [1] r.
Proof.
  assert (H : forall r, 0 < r -> P [2] r > P [1] r).
  { intros r Hr. apply P_greater. unfold F; simpl. rewrite !Rplus_0_r. apply exp_increasing. lra. }
  repeat split; [simpl; lra | apply H; lra | exact H].
Qed.

(** ** Second: "exactly one of" *)

Definition both_a : list R := [1; 7/2; 7/2].
Definition both_b : list R := [3/2; 3/2; 13/2].

(** The premises of (a) and of mended (b) at once, and a crossing on each side of 1. *)
Theorem exactly_one_is_false :
  P both_a 1 > P both_b 1 /\ Sigma both_a < Sigma both_b /\ delta both_a < delta both_b /\
  (exists r, 0 < r < 1 /\ P both_a r = P both_b r) /\ (exists r, 1 < r /\ P both_a r = P both_b r).
Proof.
  unfold both_a, both_b. assert (H1 : F [1; 7/2; 7/2] 1 < F [3/2; 3/2; 13/2] 1) by sign.
  split; [now apply P_greater|]. split; [unfold Sigma; simpl; lra|]. split.
  { simpl. unfold Rmin. repeat destruct Rle_dec; lra. }
  split.
  - destruct (crossing_down [1; 7/2; 7/2] [3/2; 3/2; 13/2] (1/4) 1) as (r & Hr & E); [lra | sign | exact H1 |].
    exists r. split; [lra | exact E].
  - destruct (crossing_up [1; 7/2; 7/2] [3/2; 3/2; 13/2] 1 2) as (r & Hr & E); [lra | exact H1 | sign |].
    exists r. split; [lra | exact E].
Qed.

(** ** Third: "otherwise no reversal" *)

Definition otherwise_a : list R := [1; 3/2; 7].
Definition otherwise_b : list R := [1/2; 3; 5].

(** Neither premise of the mended theorem, and yet two crossings in (0, 1), reversed in between. *)
Theorem otherwise_is_false :
  P otherwise_a 1 > P otherwise_b 1 /\ Sigma otherwise_a > Sigma otherwise_b /\ delta otherwise_a > delta otherwise_b /\
  exists r s, 0 < r < 9/20 /\ 9/20 < s < 1 /\ P otherwise_a r = P otherwise_b r /\ P otherwise_a s = P otherwise_b s /\
    P otherwise_a (9/20) < P otherwise_b (9/20).
Proof.
  unfold otherwise_a, otherwise_b. assert (H1 : F [1; 3/2; 7] 1 < F [1/2; 3; 5] 1) by sign.
  assert (H2 : F [1; 3/2; 7] (9/20) > F [1/2; 3; 5] (9/20)) by sign.
  split; [now apply P_greater|]. split; [unfold Sigma; simpl; lra|]. split.
  { simpl. unfold Rmin. repeat destruct Rle_dec; lra. }
  destruct (crossing_up [1; 3/2; 7] [1/2; 3; 5] (1/5) (9/20)) as (r & Hr & Er); [lra | sign | exact H2 |].
  destruct (crossing_down [1; 3/2; 7] [1/2; 3; 5] (9/20) 1) as (s & Hs & Es); [lra | exact H2 | exact H1 |].
  exists r, s. split; [lra|]. split; [lra|]. split; [exact Er|]. split; [exact Es|]. now apply P_greater.
Qed.

(** ** Fourth: "unique" *)

Definition unique_a : list R := [7/4; 7/4; 21/4; 11/2; 7].
Definition unique_b : list R := [5/4; 13/4; 7/2; 5; 9].

(** The premise of (a), and three crossings in (0, 1). *)
Theorem unique_is_false :
  P unique_a 1 > P unique_b 1 /\ Sigma unique_a < Sigma unique_b /\
  exists r s t, 0 < r /\ r < s < t /\ t < 1 /\
    P unique_a r = P unique_b r /\ P unique_a s = P unique_b s /\ P unique_a t = P unique_b t.
Proof.
  assert (H0 : F unique_a (1/5) > F unique_b (1/5)) by (unfold unique_a, unique_b; sign).
  assert (H1 : F unique_a (37/100) < F unique_b (37/100)) by (unfold unique_a, unique_b; sign).
  assert (H2 : F unique_a (7/10) > F unique_b (7/10)) by (unfold unique_a, unique_b; sign).
  assert (H3 : F unique_a 1 < F unique_b 1) by (unfold unique_a, unique_b; sign).
  split; [now apply P_greater|]. split; [unfold Sigma; simpl; lra|].
  destruct (crossing_down _ _ (1/5) (37/100) ltac:(lra) H0 H1) as (r & Hr & Er).
  destruct (crossing_up _ _ (37/100) (7/10) ltac:(lra) H1 H2) as (s & Hs & Es).
  destruct (crossing_down _ _ (7/10) 1 ltac:(lra) H2 H3) as (t & Ht & Et).
  exists r, s, t. split; [lra|]. split; [lra|]. split; [lra|]. split; [exact Er|]. split; [exact Es | exact Et].
Qed.

(** ** Every d >= 4 *)

Lemma F_app u v r : F (u ++ v) r = F u r + F v r.
Proof. unfold F. induction u as [|x u IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma Sigma_app u v : Sigma (u ++ v) = Sigma u + Sigma v.
Proof. unfold Sigma. induction u as [|x u IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma delta_repeat x n : delta (x :: repeat x n) = x.
Proof.
  induction n as [|n IH]; [reflexivity|].
  change (Rmin x (delta (x :: repeat x n)) = x). rewrite IH. apply Rmin_left. lra.
Qed.

Lemma delta_padded x y z n : z <= 100 -> delta ([x; y; z] ++ repeat 100 n) = delta [x; y; z].
Proof.
  intros Hz. destruct n as [|n]; [reflexivity|].
  change (Rmin x (Rmin y (Rmin z (delta (100 :: repeat 100 n)))) = Rmin x (Rmin y z)).
  now rewrite delta_repeat, (Rmin_left z 100).
Qed.

(** The mended theorem fails for every d >= 4: gaps of 100 that both share change nothing. *)
Theorem theorem_1_mended_fails_from_four (n : nat) :
  let u := both_a ++ repeat 100 n in let v := both_b ++ repeat 100 n in
  length u = (n + 3)%nat /\ length v = (n + 3)%nat /\ ~ theorem_1_mended u v.
Proof.
  destruct exactly_one_is_false as (H1 & HS & Hd & _). intros u v.
  split; [unfold u; rewrite app_length, repeat_length; simpl; lia|].
  split; [unfold v; rewrite app_length, repeat_length; simpl; lia|].
  intros H. destruct H as [H _].
  - apply P_greater. unfold u, v. rewrite !F_app. apply P_greater in H1. lra.
  - apply H. unfold u, v. split.
    + rewrite !Sigma_app. lra.
    + unfold both_a, both_b. rewrite !delta_padded by lra. exact Hd.
Qed.
