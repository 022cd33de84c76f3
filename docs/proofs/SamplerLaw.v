(** The law of a sampler, eq. (T85): it sums to one, and what it loses is a sum over its steps.

    At each step the sampler chooses positions by what the canvas shows, several at once, and then draws the word of each
    by itself, from rows of probabilities that the canvas determines. The rows need not fit any joint distribution. *)

From Coq Require Import Reals List Lia Lra.
From RWS Require Import OrderInvariance.
Import ListNotations.
Open Scope R_scope.

Section Law.

Variable V : Type.
Variable vocabulary : list V.

Arguments masked {V} c i.
Arguments masks {V} c.
Arguments reveal {V} c i v.
Arguments completions {V} vocabulary c.

Notation canvas := (canvas V).

(** What the sampler is: the positions that it chooses, and the probability of each word at each position. *)
Variable chosen : canvas -> list nat.
Variable row : canvas -> nat -> V -> R.

Definition lawful : Prop := forall c,
  NoDup (chosen c) /\ (masks c <> O -> chosen c <> []) /\
  forall i, In i (chosen c) -> masked c i /\ total (row c i) vocabulary = 1.

Definition nonnegative_rows : Prop := forall c i v, 0 <= row c i v.

(** The canvas with the words of the text [x] revealed at some positions, and the probability of drawing these words. *)
Fixpoint commit (c : canvas) (l : list nat) (x : list V) : canvas :=
  match l with
  | [] => c
  | i :: l' => match nth_error x i with Some v => commit (reveal c i v) l' x | None => c end
  end.

Fixpoint drawn (r : nat -> V -> R) (l : list nat) (x : list V) : R :=
  match l with
  | [] => 1
  | i :: l' => match nth_error x i with Some v => r i v | None => 0 end * drawn r l' x
  end.

(** The probability that the sampler writes [x], in that many steps from the canvas [c]. *)
Fixpoint law (steps : nat) (c : canvas) (x : list V) : R :=
  match steps with
  | O => 1
  | S k => drawn (row c) (chosen c) x * law k (commit c (chosen c) x) x
  end.

Lemma masked_reveal c i j (v : V) : masked c j -> i <> j -> masked (reveal c i v) j.
Proof.
  unfold masked; revert i j; induction c as [|o c IH]; intros [|i] [|j] H N; simpl in *; try easy.
  apply IH; [assumption | lia].
Qed.

Lemma word_of_completion c i v x : masked c i -> In x (completions vocabulary (reveal c i v)) -> nth_error x i = Some v.
Proof.
  unfold masked; revert i x; induction c as [|o c IH]; intros [|i] x H Hx; simpl in *; try discriminate.
  - apply in_map_iff in Hx as (y & <- & _). reflexivity.
  - destruct o as [w|].
    + apply in_map_iff in Hx as (y & <- & Hy). simpl. now apply IH.
    + apply in_flat_map in Hx as (w & _ & Hx). apply in_map_iff in Hx as (y & <- & Hy). simpl. now apply IH.
Qed.

Lemma completion_of_word c i v x :
  masked c i -> In x (completions vocabulary c) -> nth_error x i = Some v -> In x (completions vocabulary (reveal c i v)).
Proof.
  unfold masked; revert i x; induction c as [|o c IH]; intros [|i] x H Hx Hv; simpl in *; try discriminate.
  - injection H as ->. apply in_flat_map in Hx as (w & _ & Hx). apply in_map_iff in Hx as (y & <- & Hy).
    simpl in Hv. injection Hv as ->. now apply in_map.
  - destruct o as [w|].
    + apply in_map_iff in Hx as (y & <- & Hy). simpl in Hv. apply in_map. now apply IH.
    + apply in_flat_map in Hx as (w & Hw & Hx). apply in_map_iff in Hx as (y & <- & Hy). simpl in Hv.
      apply in_flat_map. exists w. split; [assumption|]. apply in_map. now apply IH.
Qed.

(** One step: if what follows sums to 1 on every canvas with that many masks fewer, then so do step and rest. *)
Lemma step_sums_to_one (r : nat -> V -> R) (rest : canvas -> list V -> R) l : forall c,
  NoDup l -> (forall i, In i l -> masked c i /\ total (r i) vocabulary = 1) ->
  (forall c', masks c = (masks c' + length l)%nat -> total (rest c') (completions vocabulary c') = 1) ->
  total (fun x => drawn r l x * rest (commit c l x) x) (completions vocabulary c) = 1.
Proof.
  induction l as [|i l IH]; intros c Hl Hr Hrest.
  - simpl. rewrite (total_ext _ (rest c)) by (intros; simpl; lra). apply Hrest; simpl; lia.
  - inversion Hl as [|? ? Hi Hl']; subst. destruct (Hr i (or_introl eq_refl)) as [Hm Hone].
    rewrite <- (completions_reveal V vocabulary _ c i Hm). rewrite <- Hone. apply total_ext. intros v _.
    rewrite (total_ext _ (fun x => r i v * (drawn r l x * rest (commit (reveal c i v) l x) x))).
    + rewrite total_scale, IH; [lra | assumption | |].
      * intros j Hj. destruct (Hr j (or_intror Hj)) as [Hmj Honej].
        split; [|assumption]. apply masked_reveal; [assumption|]. intros ->. contradiction.
      * intros c' Hc'. apply Hrest. rewrite (masks_reveal V c i v Hm), Hc'. simpl. lia.
    + intros x Hx. simpl. rewrite (word_of_completion c i v x Hm Hx). lra.
Qed.

Lemma total_completions_of_text c : masks c = O -> total (fun _ => 1) (completions vocabulary c) = 1.
Proof. intros H. rewrite (completions_text V vocabulary c H). simpl. lra. Qed.

(** From any canvas, the probabilities of all texts that agree with it sum to 1. *)
Theorem law_sums_to_one : lawful ->
  forall steps c, (masks c <= steps)%nat -> total (law steps c) (completions vocabulary c) = 1.
Proof.
  intros Hlaw steps; induction steps as [|k IH]; intros c Hc.
  - apply total_completions_of_text. lia.
  - simpl. destruct (Hlaw c) as (Hd & Hsome & Hrows).
    apply (step_sums_to_one (row c) (law k) (chosen c) c Hd Hrows).
    intros c' Hc'. apply IH.
    destruct (chosen c) as [|i l]; simpl in Hc'; [|lia].
    destruct (Nat.eq_dec (masks c) 0) as [Z|N]; [lia | exfalso; now apply (Hsome N)].
Qed.

(** A distribution over texts, as in [OrderInvariance]. *)
Variable p : list V -> R.
Hypothesis nonnegative : forall x, 0 <= p x.

Arguments mass {V} vocabulary p c.
Notation mass := (mass vocabulary p).

(** What the steps lose on the text [x]: log-probability of their words together, less that of each by itself. *)
Fixpoint loss (steps : nat) (c : canvas) (x : list V) : R :=
  match steps with
  | O => 0
  | S k => let c' := commit c (chosen c) x in
      (ln (mass c' / mass c) - ln (drawn (row c) (chosen c) x)) + loss k c' x
  end.

Lemma mass_positive c x : In x (completions vocabulary c) -> 0 < p x -> 0 < mass c.
Proof.
  intros Hx Hp. destruct (Rle_lt_or_eq_dec 0 (mass c) (total_nonneg p _ nonnegative)) as [H|H]; [assumption|].
  rewrite (total_zero_terms p _ x nonnegative (eq_sym H) Hx) in Hp. lra.
Qed.

Lemma commit_agrees x l : forall c, NoDup l -> (forall i, In i l -> masked c i) ->
  In x (completions vocabulary c) -> 0 < drawn (fun _ _ => 1) l x ->
  In x (completions vocabulary (commit c l x)) /\ masks c = (masks (commit c l x) + length l)%nat.
Proof.
  induction l as [|i l IH]; intros c Hl Hm Hx Hin; simpl in *; [split; [assumption | lia]|].
  inversion Hl as [|? ? Hi Hl']; subst.
  destruct (nth_error x i) as [v|] eqn:Hv; [|lra].
  destruct (IH (reveal c i v)) as [Hx' Hk]; [assumption | | | lra |].
  - intros j Hj. apply masked_reveal; [now apply Hm; right|]. intros ->. contradiction.
  - now apply completion_of_word; [apply Hm; left | |].
  - split; [assumption|]. rewrite (masks_reveal V c i v) by (now apply Hm; left). lia.
Qed.

Lemma length_of_completion c x : In x (completions vocabulary c) -> length x = length c.
Proof.
  revert x; induction c as [|[v|] c IH]; intros x Hx; simpl in Hx.
  - destruct Hx as [<-|[]]. reflexivity.
  - apply in_map_iff in Hx as (y & <- & Hy). simpl. now rewrite (IH y Hy).
  - apply in_flat_map in Hx as (w & _ & Hx). apply in_map_iff in Hx as (y & <- & Hy). simpl. now rewrite (IH y Hy).
Qed.

Lemma words_are_there x c l : In x (completions vocabulary c) -> (forall i, In i l -> masked c i) ->
  0 < drawn (fun _ _ => 1) l x.
Proof.
  intros Hx; induction l as [|i l IH]; intros Hm; simpl; [lra|].
  assert (H : nth_error x i <> None).
  { apply nth_error_Some. rewrite (length_of_completion c x Hx). apply nth_error_Some.
    pose proof (Hm i (or_introl eq_refl)) as Hi. unfold masked in Hi. rewrite Hi. discriminate. }
  destruct (nth_error x i) as [v|]; [|congruence].
  assert (0 < drawn (fun _ _ => 1) l x) by (apply IH; intros; apply Hm; now right). lra.
Qed.

Lemma drawn_nonnegative c l x : nonnegative_rows -> 0 <= drawn (row c) l x.
Proof.
  intros H; induction l as [|i l IH]; simpl; [lra|].
  apply Rmult_le_pos; [|assumption]. destruct (nth_error x i); [apply H | lra].
Qed.

Lemma law_nonnegative : nonnegative_rows -> forall steps c x, 0 <= law steps c x.
Proof.
  intros H steps; induction steps as [|k IH]; intros c x; simpl; [lra|].
  apply Rmult_le_pos; [now apply drawn_nonnegative | apply IH].
Qed.

(** log p - log q is the sum of what the steps lose: for every text with a chance under both, given the canvas. *)
Theorem loss_by_steps : lawful -> nonnegative_rows ->
  forall steps c x, (masks c <= steps)%nat -> In x (completions vocabulary c) -> 0 < p x -> 0 < law steps c x ->
  ln (p x / mass c) - ln (law steps c x) = loss steps c x.
Proof.
  intros Hlaw Hrow steps; induction steps as [|k IH]; intros c x Hc Hx Hp Hq; simpl in *.
  - assert (Hm : mass c = p x).
    { unfold OrderInvariance.mass. rewrite (completions_text V vocabulary c) in * by lia.
      destruct Hx as [<-|[]]. simpl. lra. }
    rewrite Hm. replace (p x / p x) with 1 by (field; lra). rewrite ln_1. lra.
  - destruct (Hlaw c) as (Hd & Hsome & Hrows).
    assert (Hmasked : forall i, In i (chosen c) -> masked c i) by (intros i Hi; apply (Hrows i Hi)).
    pose proof (words_are_there x c (chosen c) Hx Hmasked) as Hthere.
    destruct (commit_agrees x (chosen c) c Hd Hmasked Hx Hthere) as [Hx' Hk].
    set (c' := commit c (chosen c) x) in *.
    pose proof (mass_positive c x Hx Hp) as Hmc. pose proof (mass_positive c' x Hx' Hp) as Hmc'.
    assert (Hless : (masks c' <= k)%nat).
    { destruct (chosen c) as [|i l]; simpl in Hk; [|lia].
      destruct (Nat.eq_dec (masks c) 0) as [Z|N]; [lia | exfalso; now apply (Hsome N)]. }
    pose proof (drawn_nonnegative c (chosen c) x Hrow) as [Hdrawn|Z]; [|rewrite <- Z in Hq; lra].
    pose proof (law_nonnegative Hrow k c' x) as [Hlater|Z]; [|rewrite <- Z in Hq; lra].
    rewrite ln_mult by assumption. rewrite <- (IH c' x Hless Hx' Hp Hlater).
    replace (p x / mass c) with (mass c' / mass c * (p x / mass c')) by (field; lra).
    rewrite ln_mult by (apply Rdiv_lt_0_compat; assumption). lra.
Qed.

End Law.
